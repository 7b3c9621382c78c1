import FileStorage
import RemoteSettingsModel

/// One collection. Made by ``RemoteSettingsService/makeClient(collectionName:)``; may be used from many threads.
public final class RemoteSettingsClient: Sendable {
    private let name: String
    private let core: ServiceCore

    init(_ name: String, _ core: ServiceCore) {
        self.name = name
        self.core = core
        core.addClient(name)
    }

    var session: Session { core.session }

    /// - Throws: where the name is not one that a collection can have.
    func state(_ session: Session) throws(RemoteSettingsError) -> CollectionState {
        session.collection(try session.collectionID(name))
    }

    /// The name that the client was made with.
    public func collectionName() -> String { name }

    /// The records that are for this app, all of one state of the collection, sorted by id; `nil` where nothing is held.
    ///
    /// Never uses the network. The first call in a process reads, and where needed verifies, what is held; each later one
    /// looks whether another process has stored something newer since (one `lstat`).
    public func getRecords() -> [RemoteSettingsRecord]? {
        let session = session
        return try? state(session).records(session)
    }

    /// Like ``getRecords()``. Where nothing is held and `syncIfEmpty` is set, the collection is synced first; where that
    /// fails the answer is `nil`.
    public func getRecords(syncIfEmpty: Bool) async -> [RemoteSettingsRecord]? {
        let session = session
        guard let state = try? state(session) else { return nil }
        if let records = state.records(session) { return records }
        guard syncIfEmpty else { return nil }
        _ = await session.sync(state, expected: nil, trigger: .empty)
        return state.records(session)
    }

    /// The records of ``getRecords()`` by their ids.
    public func getRecordsMap() -> [String: RemoteSettingsRecord]? {
        getRecords().map(Self.map)
    }

    /// The records of ``getRecords(syncIfEmpty:)`` by their ids.
    public func getRecordsMap(syncIfEmpty: Bool) async -> [String: RemoteSettingsRecord]? {
        await getRecords(syncIfEmpty: syncIfEmpty).map(Self.map)
    }

    private static func map(_ records: [RemoteSettingsRecord]) -> [String: RemoteSettingsRecord] {
        Dictionary(records.lazy.map { ($0.id, $0) }) { first, _ in first }
    }

    /// The collection's timestamp, in milliseconds since 1970; `nil` where nothing is held. Never uses the network.
    public func getLastModifiedTimestamp() -> UInt64? { loaded?.held?.timestamp.milliseconds }

    private var loaded: LoadedCollection? {
        let session = session
        return try? state(session).current(session)
    }

    /// Where the records come from, their age, what vouches for them, and what was not used and why. Never uses the
    /// network.
    public var snapshot: SnapshotStatus {
        let session = session
        guard let id = try? session.collectionID(name), let loaded else {
            return SnapshotStatus(collection: name, source: .none, unused: [])
        }
        var unused = loaded.unused
        if loaded.held == nil, case .failure(let error) = session.server {
            unused.append(.init(source: .none, timestamp: nil, reason: .unreadableSource("\(error)")))
        }
        return SnapshotStatus(
            collection: "\(id)", source: loaded.held?.source ?? .none, timestamp: loaded.held?.timestamp,
            age: loaded.held.map { session.now.elapsed(since: $0.timestamp) }, records: loaded.held?.records.count,
            trust: loaded.held?.trust, unused: unused)
    }

    /// What syncs change from now on, as far as the app's filters let it see; those of another process that shares the
    /// storage directory are told when a read or a sync here notices them. Each call gives a stream of its own.
    public var changes: AsyncStream<RecordChanges> {
        guard let id = try? session.collectionID(name) else { return AsyncStream<RecordChanges> { $0.finish() } }
        return core.events.listen(to: id)
    }

    /// Brings the collection to the server's state. Uses the network. Calls at the same time share one sync.
    ///
    /// - Throws: ``RemoteSettingsError``. What was held stays.
    public func sync() async throws(RemoteSettingsError) {
        _ = try await sync(expecting: nil)
    }

    /// Like ``sync()``, for a push message.
    ///
    /// - Parameter expectedTimestamp: the number that the message gave; it gets the answer past caches.
    @discardableResult
    public func sync(expectedTimestamp: UInt64) async throws(RemoteSettingsError) -> SyncOutcome {
        try await sync(expecting: Timestamp(milliseconds: expectedTimestamp))
    }

    private func sync(expecting expected: Timestamp?) async throws(RemoteSettingsError) -> SyncOutcome {
        let session = session
        return try await session.sync(
            state(session), expected: expected, trigger: expected == nil ? .manual : .broadcast
        ).get()
    }

    /// Removes everything that was stored of the collection, what protects it from older states included. What is
    /// packaged serves again.
    ///
    /// - Throws: ``RemoteSettingsError/Other(reason:)`` where the files cannot be removed, or another process is writing.
    public func resetStorage() throws(RemoteSettingsError) {
        let session = session
        let state = try state(session)
        do {
            try session.removeStored(state.id)
        } catch {
            throw RemoteSettingsError(error)
        }
        state.invalidate()
    }

    /// Ends a sync of this collection that is under way, and the streams of its changes. Reads go on being answered.
    public func shutdown() {
        let session = session
        guard let state = try? state(session) else { return }
        state.syncs.close()
        core.events.finish(state.id)
    }
}

extension Session {
    func removeStored(_ id: CollectionID) throws {
        guard FileStore.isDirectory(storage.path) else { return }
        guard let lock = try DirectoryLock(storage.path) else {
            throw RemoteSettingsError.storageIsBusy(storage.path, seconds: 0)
        }
        defer { withExtendedLifetime(lock) {} }
        try FileStore.remove(storage.snapshotPath(id))
        try FileStore.remove(storage.previousPath(id))
        try FileStore.remove(storage.damagedPath(id))
        try FileStore.removeTree(storage.attachmentsPath(id))
    }
}
