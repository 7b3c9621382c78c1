#if Server
import Dumps
import NIOCore

/// Ends a request that has too many bytes.
///
/// It comes before the decoder, which accepts any number of chunk extensions and of empty lines before a request.
final class RequestSizeLimit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let limit: Int
    private var count = 0

    /// - Parameter limit: the most bytes up to the end of a request.
    init(bytes limit: Int) {
        self.limit = limit
    }

    func requestIsComplete() { count = 0 }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count += unwrapInboundIn(data).readableBytes
        if count > limit {
            context.fireErrorCaught(DumpsError(.overLimit, problem: "more than \(limit) bytes"))
        } else {
            context.fireChannelRead(data)
        }
    }
}

/// The time by which a client must have done something. Used only on the connection's event loop.
///
/// A connection has one timer. The deadline changes with each request, but the timer does not. If the deadline has
/// moved when the timer fires, the timer starts again.
final class ConnectionDeadline {
    private let eventLoop: any EventLoop
    private let missed: (Refusal) -> Void
    private var refusal = Refusal.slowRequest
    private var time = NIODeadline.distantFuture
    private var timer: Scheduled<Void>?
    private var timerTime = NIODeadline.distantFuture

    /// - Parameter missed: called with what the client failed to do in time.
    init(_ eventLoop: any EventLoop, missed: @escaping (Refusal) -> Void) {
        self.eventLoop = eventLoop
        self.missed = missed
    }

    func set(_ refusal: Refusal, in seconds: Int) {
        self.refusal = refusal
        time = .now() + .seconds(Int64(seconds))
        if timer == nil || timerTime > time { schedule() }
    }

    /// Removes the deadline until it is set again.
    func lift() { time = .distantFuture }

    func cancel() {
        timer?.cancel()
        timer = nil
    }

    private func schedule() {
        timer?.cancel()
        timerTime = time
        timer = eventLoop.assumeIsolated().scheduleTask(deadline: time) { [weak self] in self?.timeUp() }
    }

    private func timeUp() {
        timer = nil
        if time == .distantFuture { return }
        if time > .now() { schedule() } else { missed(refusal) }
    }
}
#endif
