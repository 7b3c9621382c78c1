import RemoteSettingsModel

/// The streams that a service and its clients have given out.
final class ChangeHub: Sendable {
    private struct Collection: Sendable {
        /// What syncs change for this app.
        let changes: Broadcast<RecordChanges>
        /// Whenever another state comes into use, even if no record of it is for this app.
        let stores = Broadcast<Void>()

        func finish() {
            changes.finish()
            stores.finish()
        }
    }

    private struct State {
        /// The collections that had a listener.
        var collections: [CollectionID: Collection] = [:]
        var isFinished = false
        var onListeners: @Sendable () -> Void = {}
    }

    private let state = Mutex(State())

    /// Whether any collection has a listener to its changes.
    var hasListeners: Bool { state.withLock { Array($0.collections.values) }.contains { !$0.changes.isEmpty } }

    /// - Parameter body: called after the first listener to changes of a collection has come, and after the last one
    ///   has gone. It must check ``hasListeners`` itself.
    func onListeners(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onListeners = body } }

    /// The changes from now on. Those that pile up unread are merged, because each keeps two states in memory.
    ///
    /// - Parameter owner: the client that gives the stream out.
    func changes(of id: CollectionID, owner: WorkOwner) -> AsyncStream<RecordChanges> {
        collection(id).changes.stream(
            keeping: { later, unread in
                let merged = unread.first?.followed(by: later) ?? later
                unread = merged.isEmpty ? [] : [merged]
            }, owner: owner)
    }

    /// Yields whenever another state of the collection comes into use.
    func stores(of id: CollectionID) -> AsyncStream<Void> { collection(id).stores.stream() }

    func sendStore(of id: CollectionID) { known(id)?.stores.send(()) }

    func send(_ changes: RecordChanges, of id: CollectionID) { known(id)?.changes.send(changes) }

    func hasListeners(_ id: CollectionID) -> Bool { known(id).map { !$0.changes.isEmpty } ?? false }

    /// Whether somebody waits for another state of the collection to come into use.
    func isFollowed(_ id: CollectionID) -> Bool { known(id).map { !$0.changes.isEmpty || !$0.stores.isEmpty } ?? false }

    /// Ends the streams that a client has given out.
    func finish(_ owner: WorkOwner) {
        for collection in state.withLock({ Array($0.collections.values) }) { collection.changes.finish(owner) }
    }

    /// Ends every stream. Streams that are asked for later end at once.
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
