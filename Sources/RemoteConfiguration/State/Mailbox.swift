import Locks

/// Messages on their way to one listener: handed over where it wants to be called, in their order, one at a time.
///
/// A listener that does not get its turn costs one scheduled call, and as many messages as `add` leaves waiting.
final class Mailbox<Message: Sendable>: Sendable {
    private struct State {
        var waiting: [Message] = []
        /// Whether a call is scheduled or running; it hands over all that is waiting.
        var isScheduled = false
        var isClosed = false
    }

    private let state = Mutex(State())
    private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let add: @Sendable (Message, inout [Message]) -> Void
    private let handle: @Sendable (Message) -> Void

    /// - Parameters:
    ///   - schedule: runs what it is given where the listener wants to be called, and returns at once.
    ///   - add: adds a message to those that wait, and bounds their number.
    ///   - handle: calls the listener.
    init(
        schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        add: @escaping @Sendable (Message, inout [Message]) -> Void, handle: @escaping @Sendable (Message) -> Void
    ) {
        self.schedule = schedule
        self.add = add
        self.handle = handle
    }

    func send(_ message: Message) {
        let mustSchedule = state.withLock { state in
            guard !state.isClosed else { return false }
            add(message, &state.waiting)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { schedule { self.deliver() } }
    }

    /// Ends the calls: each is preceded by a look at whether this was called. Waits for nothing.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.waiting = []
        }
    }

    private func deliver() {
        while let batch = takeAll() {
            for message in batch {
                if state.withLock({ $0.isClosed }) { return }
                handle(message)
            }
        }
    }

    private func takeAll() -> [Message]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isScheduled = false
                return nil
            }
            defer { state.waiting = [] }
            return state.waiting
        }
    }
}
