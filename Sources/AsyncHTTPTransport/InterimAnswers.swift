import NIOCore
import NIOHTTP1

/// Refuses interim answers (1xx) that have a body, which RFC 9110, section 15.2, forbids.
///
/// AsyncHTTPClient skips the head of an interim answer, and traps (1.37) on the body that follows it. So a server could
/// end the process with `HTTP/1.1 102 Processing` and a `Content-Length`.
final class InterimAnswers: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    private var isInterim = false
    private var isRefused = false

    /// Adds the handler after the decoder of a connection that AsyncHTTPClient has set up.
    @Sendable static func add(to channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
            try pipeline.addHandler(InterimAnswers(), position: .after(decoder))
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            isInterim = head.status.code < 200 && head.status != .switchingProtocols
        case .body, .end:
            guard isInterim else { break }
            isRefused = true
            context.fireErrorCaught(HTTPParserError.unexpectedContentLength)
            context.close(promise: nil)
            return
        }
        context.fireChannelRead(data)
    }
}
