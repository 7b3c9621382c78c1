import NIOCore
import NIOHTTP1
import NIOHTTP2

/// The server has not processed the request, so it may be sent again (RFC 9113, section 8.7).
///
/// The server has said so for the stream, or for all streams after the last one that it answers on the connection.
struct NotProcessed: Error {}

/// Refuses what a server must not send on an HTTP/2 stream, before AsyncHTTPClient sees it. It also tells apart the
/// streams that the server has not processed.
///
/// NIOHTTP2 (1.46) passes any `:status` on. Its codec traps if the status is empty, and AsyncHTTPClient (1.37) traps if
/// it is 101 or no number of three digits. So a server could end the process with one header field.
final class HTTP2Answers: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload

    private enum State {
        case beforeHead
        case inBody
        case ended
        case refused
    }

    private var state = State.beforeHead
    /// The code of the server's RST_STREAM.
    private var reset: HTTP2ErrorCode?

    /// Adds the handler before the codec of a stream that AsyncHTTPClient has set up.
    @Sendable static func add(to channel: any Channel) -> EventLoopFuture<Void> {
        // It must be there at once: AsyncHTTPClient may cancel a stream that has not yet got its request, and traps.
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(HTTP2Answers(), position: .first)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard state != .refused else { return }
        let isAllowed =
            switch unwrapInboundIn(data) {
            case .headers(let frame): takes(frame)
            case .data(let frame): takes(frame)
            case .rstStream(let code): takes(code)
            default: true
            }
        guard isAllowed else {
            state = .refused
            context.fireErrorCaught(HTTPParserError.invalidStatus)
            context.close(promise: nil)
            return
        }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // NIOHTTP2 closes the streams that a GOAWAY leaves out as if they had been cancelled.
        let isLeftOut = reset == nil && (error as? NIOHTTP2Errors.StreamClosed)?.errorCode == .cancel
        context.fireErrorCaught(state == .beforeHead && (isLeftOut || reset == .refusedStream) ? NotProcessed() : error)
    }

    private func takes(_ code: HTTP2ErrorCode) -> Bool {
        reset = reset ?? code
        return true
    }

    private func takes(_ frame: HTTP2Frame.FramePayload.Headers) -> Bool {
        switch state {
        case .beforeHead:
            guard let status = Self.status(of: frame.headers[":status"]) else { return false }
            if (100..<200).contains(status) { return status != 101 && !frame.endStream }
            state = frame.endStream ? .ended : .inBody
            return true
        case .inBody:
            // These are the trailers, which end the stream.
            state = .ended
            return frame.endStream
        case .ended, .refused:
            return false
        }
    }

    private func takes(_ frame: HTTP2Frame.FramePayload.Data) -> Bool {
        guard state == .inBody else { return false }
        if frame.endStream { state = .ended }
        return true
    }

    /// - Returns: `nil` if `values` are not one number from 100 to 999.
    private static func status(of values: [String]) -> Int? {
        guard values.count == 1, let value = values.first, value.utf8.count == 3,
            value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let status = Int(value),
            status >= 100
        else { return nil }
        return status
    }
}
