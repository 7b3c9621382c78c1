import RemoteSettingsModel

/// The streams that a service and its clients have returned to the app.
final class ChangeHub: Sendable {
    private struct Collection: Sendable {
        /// Sends the changes of syncs, after the app's filters are applied.
        let changes: Broadcast<RecordChanges>
        /// Sends an element whenever a different state comes into use, even if none of its records matches the app's
        /// context.
        let stores = Broadcast<Void>()
        let observed = ObservedState()

        func finish() {
            changes.finish()
            stores.finish()
        }
    }

    private struct State {
        /// The collections that have had a listener.
        var collections: [CollectionID: Collection] = [:]
        var isFinished = false
        var onListeners: @Sendable () -> Void = {}
    }

    private let state = Mutex(State())

    /// Whether any collection has a listener for its changes.
    var hasListeners: Bool { state.withLock { Array($0.collections.values) }.contains { !$0.changes.isEmpty } }

    /// Sets the closure that is called after the first listener for a collection's changes was added, and after the
    /// last one was removed.
    ///
    /// - Parameter body: the closure. It must check ``hasListeners`` itself.
    func onListeners(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onListeners = body } }

    /// Returns a stream of the changes from now on. Unread changes are merged, because each keeps two states in memory.
    ///
    /// - Parameter owner: the client that returns the stream to the app.
    func changes(of id: CollectionID, owner: WorkOwner) -> AsyncStream<RecordChanges> {
        collection(id).changes.stream(
            keeping: { later, unread in
                let merged = unread.first?.followed(by: later) ?? later
                unread = merged.isEmpty ? [] : [merged]
            }, owner: owner)
    }

    /// Returns a stream with an element whenever a different state of the collection comes into use.
    func stores(of id: CollectionID) -> AsyncStream<Void> { collection(id).stores.stream() }

    func sendStore(of id: CollectionID) { known(id)?.stores.send(()) }

    /// Returns the state that reads of the collection are reported to, for Observation.
    func observed(_ id: CollectionID) -> ObservedState { collection(id).observed }

    func send(_ changes: RecordChanges, of id: CollectionID) { known(id)?.changes.send(changes) }

    func hasListeners(_ id: CollectionID) -> Bool { known(id).map { !$0.changes.isEmpty } ?? false }

    /// Returns whether anything waits for a different state of the collection to come into use.
    func isFollowed(_ id: CollectionID) -> Bool { known(id).map { !$0.changes.isEmpty || !$0.stores.isEmpty } ?? false }

    /// Finishes the streams that a client has returned.
    func finish(_ owner: WorkOwner) {
        for collection in state.withLock({ Array($0.collections.values) }) { collection.changes.finish(owner) }
    }

    /// Finishes every stream. Streams that are created later finish at once.
    func finishAll() {
        let all = state.withLock { state in
            state.isFinished = true
            return Array(state.collections.values)
        }
        for collection in all { collection.finish() }
    }

    private func known(_ id: CollectionID) -> Collection? { state.withLock { $0.collections[id] } }

    private func collection(_ id: CollectionID) -> Collection {
        let (collection, isFinished) = state.withLock { state in
            let collection =
                state.collections[id]
                ?? Collection(changes: Broadcast { [weak self] in self?.state.withLock { $0.onListeners }() })
            state.collections[id] = collection
            return (collection, state.isFinished)
        }
        if isFinished { collection.finish() }
        return collection
    }
}
