import NIOCore
import NIOHTTP2

/// Closes an HTTP/2 connection on which the server has broken the protocol, so that its requests fail at once.
///
/// NIOHTTP2 (1.46) reports such an error and sends GOAWAY, but AsyncHTTPClient (1.37) waits on for the answers until
/// their time is over. RFC 9113, section 5.4, lets an endpoint treat the error of a stream as one of its connection.
final class HTTP2Failures: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame

    /// Adds the handler after the multiplexer of a connection that AsyncHTTPClient has set up.
    @Sendable static func add(to channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(HTTP2Failures(), position: .last)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
