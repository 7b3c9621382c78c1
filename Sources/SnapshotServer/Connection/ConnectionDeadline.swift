import NIOCore

/// The time by which a client must have done something. One timer serves a connection: it is not moved with the deadline,
/// which changes with each request, but starts again where it finds that the deadline has moved.
///
/// Used on the connection's event loop only.
final class ConnectionDeadline {
    private let eventLoop: any EventLoop
    private let missed: (Refusal) -> Void
    private var refusal = Refusal.slowRequest
    private var time = NIODeadline.distantFuture
    private var timer: Scheduled<Void>?
    private var timerTime = NIODeadline.distantFuture

    /// - Parameter missed: told what the client failed to do.
    init(_ eventLoop: any EventLoop, missed: @escaping (Refusal) -> Void) {
        self.eventLoop = eventLoop
        self.missed = missed
    }

    func set(_ refusal: Refusal, in seconds: Int) {
        self.refusal = refusal
        time = .now() + .seconds(Int64(seconds))
        if timer == nil || timerTime > time { schedule() }
    }

    /// Until it is set again, the client has all the time.
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
