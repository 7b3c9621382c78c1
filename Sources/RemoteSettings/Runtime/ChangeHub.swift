import RemoteSettingsModel
import Synchronization

/// Who listens to the changes of which collection.
final class ChangeHub: Sendable {
    private struct State {
        var listeners: [CollectionID: [Int: AsyncStream<RecordChanges>.Continuation]] = [:]
        var count = 0
        var isFinished = false
    }

    private let state = Mutex(State())

    func listen(to id: CollectionID) -> AsyncStream<RecordChanges> {
        let (stream, continuation) = AsyncStream<RecordChanges>.makeStream()
        let number: Int? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.count += 1
            state.listeners[id, default: [:]][state.count] = continuation
            return state.count
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners[id]?.removeValue(forKey: number) }
        }
        return stream
    }

    func hasListeners(_ id: CollectionID) -> Bool {
        state.withLock { $0.listeners[id]?.isEmpty == false }
    }

    func send(_ changes: RecordChanges, of id: CollectionID) {
        let listeners = state.withLock { Array(($0.listeners[id] ?? [:]).values) }
        for listener in listeners { listener.yield(changes) }
    }

    /// Ends every stream, those to come too; or those of one collection.
    func finish(_ id: CollectionID? = nil) {
        let listeners = state.withLock { state -> [AsyncStream<RecordChanges>.Continuation] in
            if let id { return Array((state.listeners.removeValue(forKey: id) ?? [:]).values) }
            defer { state.listeners = [:] }
            state.isFinished = true
            return state.listeners.values.flatMap(\.values)
        }
        for listener in listeners { listener.finish() }
    }
}
