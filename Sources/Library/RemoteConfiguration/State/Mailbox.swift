import RemoteSettingsModel

/// Delivers messages to one listener, in order and one at a time, where the listener wants to be called.
///
/// A listener that is never called costs one scheduled call, and the messages that `add` keeps.
final class Mailbox<Message: Sendable>: Sendable {
    private struct State {
        var waiting: [Message] = []
        /// Whether a call is scheduled or running, which delivers all waiting messages.
        var isScheduled = false
        var isClosed = false
    }

    private let state = Mutex(State())
    private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let add: @Sendable (Message, inout [Message]) -> Void
    private let handle: @Sendable (Message) -> Void

    /// Makes a mailbox.
    ///
    /// - Parameters:
    ///   - schedule: runs its argument where the listener wants to be called, and returns at once.
    ///   - add: adds a message to the waiting ones, and limits their number.
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

    /// Ends the calls. It waits for nothing: each call first checks whether this was called.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.waiting = []
        }
    }

    private func deliver() {
        while let batch = removeAll() {
            for message in batch {
                if state.withLock({ $0.isClosed }) { return }
                handle(message)
            }
        }
    }

    private func removeAll() -> [Message]? {
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
