import NIOCore

/// Ends a request of too many bytes, before the decoder: it takes extensions of chunks, and empty lines before a request,
/// without an end.
final class RequestSizeLimit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    struct Exceeded: Error {}

    private let limit: Int
    private var count = 0

    /// - Parameter limit: bytes that may come before a request is complete.
    init(bytes limit: Int) {
        self.limit = limit
    }

    func requestIsComplete() { count = 0 }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count += unwrapInboundIn(data).readableBytes
        if count > limit {
            context.fireErrorCaught(Exceeded())
        } else {
            context.fireChannelRead(data)
        }
    }
}
