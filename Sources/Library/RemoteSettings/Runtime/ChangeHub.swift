import RemoteSettingsModel

/// The streams of changes that clients have given out.
final class ChangeHub: Sendable {
    private struct Listener {
        let id: CollectionID
        let owner: ObjectIdentifier
        let unread: Unread
        let stream: AsyncStream<Void>.Continuation
    }

    /// What a listener has not read yet, merged into one change. Several changes would each keep two states of the
    /// collection in memory.
    private final class Unread: Sendable {
        private let changes = Mutex<RecordChanges?>(nil)

        func add(_ later: RecordChanges) { changes.withLock { $0 = $0?.followed(by: later) ?? later } }

        func readAll() -> RecordChanges? {
            changes.withLock { changes in
                defer { changes = nil }
                return changes.flatMap { $0.isEmpty ? nil : $0 }
            }
        }
    }

    /// - Parameters:
    ///   - id: the collection.
    ///   - began: when the sync began.
    typealias SyncBody = @Sendable (_ id: CollectionID, _ began: Timestamp) async -> Void

    private struct State {
        var listeners: [Int: Listener] = [:]
        /// Streams that yield whenever another state comes into use.
        var stores: [Int: (id: CollectionID, stream: AsyncStream<Void>.Continuation)] = [:]
        /// Called whenever a sync has succeeded.
        var syncs: [Int: SyncBody] = [:]
        var count = 0
        var isFinished = false
        /// Called after the first listener has come, and after the last one has gone.
        var onListeners: (@Sendable () -> Void)?
        var hadListeners = false
    }

    private let state = Mutex(State())

    /// Whether any collection has a listener.
    var hasListeners: Bool { state.withLock { !$0.listeners.isEmpty } }

    /// - Parameter body: called after the first listener has come, and after the last one has gone. It must check
    ///   ``hasListeners`` itself, because of two concurrent calls either may come last.
    func onListeners(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onListeners = body } }

    private func checkListeners() {
        let body = state.withLock { state in
            let hasListeners = !state.listeners.isEmpty
            defer { state.hadListeners = hasListeners }
            return hasListeners == state.hadListeners ? nil : state.onListeners
        }
        body?()
    }

    /// - Parameter owner: the client that gives the stream out.
    func listen(to id: CollectionID, owner: ObjectIdentifier) -> AsyncStream<RecordChanges> {
        let unread = Unread()
        let signals = stream(
            adding: { $0.listeners[$1] = Listener(id: id, owner: owner, unread: unread, stream: $2) },
            removing: { $0.listeners[$1] = nil })
        return AsyncStream {
            for await _ in signals { if let changes = unread.readAll() { return changes } }
            return nil
        }
    }

    /// Yields whenever another state of the collection comes into use, even if no record of it is for this app.
    func stores(of id: CollectionID) -> AsyncStream<Void> {
        stream(adding: { $0.stores[$1] = (id, $2) }, removing: { $0.stores[$1] = nil })
    }

    /// A stream that is registered under its own number until it ends. After ``finishAll()``, it has already ended.
    private func stream(
        adding: (inout State, Int, AsyncStream<Void>.Continuation) -> Void,
        removing: @escaping @Sendable (inout State, Int) -> Void
    ) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number: Int? = state.withLock { state in
            guard !state.isFinished else { return nil }
            state.count += 1
            adding(&state, state.count, continuation)
            return state.count
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { removing(&$0, number) }
            self?.checkListeners()
        }
        checkListeners()
        return stream
    }

    /// Calls `body` whenever a sync has succeeded, until the returned object is released.
    func onSync(_ body: @escaping SyncBody) -> UpdateListening {
        let number = state.withLock { state in
            state.count += 1
            state.syncs[state.count] = body
            return state.count
        }
        return UpdateListening { [weak self] in self?.state.withLock { _ = $0.syncs.removeValue(forKey: number) } }
    }

    /// Calls everyone who asked to hear of successful syncs, and waits for them.
    func recordSync(of id: CollectionID, began: Timestamp) async {
        for body in state.withLock({ Array($0.syncs.values) }) { await body(id, began) }
    }

    func sendStore(of id: CollectionID) {
        let streams = state.withLock { $0.stores.values.filter { $0.id == id } }
        for store in streams { store.stream.yield() }
    }

    /// Whether somebody waits for another state of the collection to come into use.
    func isFollowed(_ id: CollectionID) -> Bool {
        state.withLock { state in
            state.listeners.values.contains { $0.id == id } || state.stores.values.contains { $0.id == id }
        }
    }

    func hasListeners(_ id: CollectionID) -> Bool {
        state.withLock { $0.listeners.values.contains { $0.id == id } }
    }

    func send(_ changes: RecordChanges, of id: CollectionID) {
        let listeners = state.withLock { $0.listeners.values.filter { $0.id == id } }
        for listener in listeners {
            listener.unread.add(changes)
            listener.stream.yield()
        }
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

    /// Ends every stream. Streams that are asked for later end at once.
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
