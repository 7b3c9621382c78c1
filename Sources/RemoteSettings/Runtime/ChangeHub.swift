import RemoteSettingsModel
import Synchronization

/// The streams of changes that clients have given out.
final class ChangeHub: Sendable {
    private struct Listener {
        let id: CollectionID
        let owner: ObjectIdentifier
        let stream: AsyncStream<RecordChanges>.Continuation
    }

    private struct State {
        var listeners: [Int: Listener] = [:]
        /// Streams that yield whenever another state serves.
        var stores: [Int: (id: CollectionID, stream: AsyncStream<Void>.Continuation)] = [:]
        var count = 0
        var isFinished = false
    }

    private let state = Mutex(State())

    /// - Parameter owner: the client that gives the stream out.
    func listen(to id: CollectionID, owner: ObjectIdentifier) -> AsyncStream<RecordChanges> {
        let (stream, continuation) = AsyncStream<RecordChanges>.makeStream()
        let number: Int? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.count += 1
            state.listeners[state.count] = Listener(id: id, owner: owner, stream: continuation)
            return state.count
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
        }
        return stream
    }

    /// Yields whenever another state of the collection serves, even where no record of it is for this app.
    func stores(of id: CollectionID) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number: Int? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.count += 1
            state.stores[state.count] = (id, continuation)
            return state.count
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.stores.removeValue(forKey: number) }
        }
        return stream
    }

    func sendStore(of id: CollectionID) {
        let streams = state.withLock { $0.stores.values.filter { $0.id == id } }
        for store in streams { store.stream.yield() }
    }

    func hasListeners(_ id: CollectionID) -> Bool {
        state.withLock { $0.listeners.values.contains { $0.id == id } }
    }

    func send(_ changes: RecordChanges, of id: CollectionID) {
        let listeners = state.withLock { $0.listeners.values.filter { $0.id == id } }
        for listener in listeners { listener.stream.yield(changes) }
    }

    /// Ends the streams that a client has given out.
    func finish(_ owner: ObjectIdentifier) {
        let listeners = state.withLock { state in
            let ended = state.listeners.filter { $0.value.owner == owner }
            for number in ended.keys { state.listeners[number] = nil }
            return ended.values
        }
        for listener in listeners { listener.stream.finish() }
    }

    /// Ends every stream, and those that are asked for later at once.
    func finishAll() {
        let (listeners, stores) = state.withLock { state in
            defer { (state.listeners, state.stores) = ([:], [:]) }
            state.isFinished = true
            return (state.listeners.values, state.stores.values)
        }
        for listener in listeners { listener.stream.finish() }
        for store in stores { store.stream.finish() }
    }
}
