import Dumps
import NIOCore
import RemoteSettingsModel

/// Aborts a request that is too large.
///
/// It comes before the decoder, because the decoder accepts any number of chunk extensions and of empty lines before a
/// request.
final class RequestSizeLimit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let limit: Int
    private var count = 0

    /// Creates the handler.
    ///
    /// - Parameter limit: the maximum size of a whole request in bytes.
    init(bytes limit: Int) {
        self.limit = limit
    }

    func requestIsComplete() { count = 0 }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count += unwrapInboundIn(data).readableBytes
        if count > limit {
            context.fireErrorCaught(Failure(.overLimit, problem: "more than \(limit) bytes"))
        } else {
            context.fireChannelRead(data)
        }
    }
}

/// A deadline for the client's next action. Used only on the connection's event loop.
///
/// A connection has only one timer. Setting a later deadline does not restart it: if it fires before the deadline, it
/// starts again for the remaining time.
final class ConnectionDeadline {
    private let eventLoop: any EventLoop
    private let missed: (Refusal) -> Void
    private var refusal = Refusal.slowRequest
    private var time = NIODeadline.distantFuture
    private var timer: Scheduled<Void>?
    private var timerTime = NIODeadline.distantFuture

    /// Creates a deadline.
    ///
    /// - Parameter missed: called with the refusal that applies if the client misses the deadline.
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
