import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// Sets up each accepted connection: a strict decoder of requests, and the handler that answers them.
struct ConnectionSetup: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let channel: any Channel
    }

    let responder: Responder
    let logger: Logger

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            var decoderLimits = NIOHTTPDecoderLimitConfiguration()
            decoderLimits.maxHeaderFieldSize = responder.limits.headerFieldBytes
            decoderLimits.maxHeaderListSize = responder.limits.headerBytes
            decoderLimits.maxHeaderFieldCount = responder.limits.headerFields
            let decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: decoderLimits)
            let received = RequestSizeLimit(bytes: responder.limits.requestBytes)
            try channel.pipeline.syncOperations.addHandler(received)
            try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(decoder))
            try channel.pipeline.syncOperations.addHandler(
                ConnectionHandler(responder, received: received, logger: self.logger))
            // Answers are written as a whole; waiting for more (Nagle) only delays them.
            try channel.syncOptions?.setOption(ChannelOptions.tcpOption(.tcp_nodelay), value: 1)
            return Value(channel: channel)
        }
    }

    func handle(value: Value, logger: Logger) async {
        try? await value.channel.closeFuture.get()
    }
}
