import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import RemoteSettingsModel

/// Hummingbird's channel for HTTP/1.1 with this server's guards around its decoder.
struct GuardedChannel: ServerChildChannel {
    let base: HTTP1Channel
    let limits: ServerLimits
    let makeGuard: @Sendable (RequestSizeLimit) -> RequestGuard

    /// - Parameter makeGuard: called once for each connection.
    init(
        _ responder: @escaping HTTPChannelHandler.Responder, _ limits: ServerLimits,
        makeGuard: @escaping @Sendable (RequestSizeLimit) -> RequestGuard
    ) {
        var configuration = HTTP1Channel.Configuration()
        configuration.httpDecoder = .init(
            maxHeaderFieldSize: limits.headerFieldBytes, maxHeaderListSize: limits.headerBytes,
            maxHeaderFieldCount: limits.headerFields)
        base = HTTP1Channel(responder: responder, configuration: configuration)
        self.limits = limits
        self.makeGuard = makeGuard
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            let size = RequestSizeLimit(bytes: limits.requestBytes)
            try pipeline.addHandler(size, position: .before(decoder))
            try pipeline.addHandler(makeGuard(size), position: .after(decoder))
            // Everything that was read is decoded at once: the less is read at once, the fewer requests wait in memory.
            let options = channel.syncOptions
            try options?.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 4096))
            try options?.setOption(.maxMessagesPerRead, value: 1)
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await withTaskExecutorPreference(LoopExecutor(value.channel.eventLoop)) {
            await base.handle(value: value, logger: logger)
        }
    }
}
