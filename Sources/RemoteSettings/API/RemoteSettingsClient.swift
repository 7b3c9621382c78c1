import RemoteSettingsModel
import Locks

/// One collection. Made by ``RemoteSettingsService/makeClient(collectionName:)``; may be used from many threads.
public final class RemoteSettingsClient: Sendable {
    private let name: String
    let service: RemoteSettingsService
    private let shutDown = Atomic(false)

    var isShutDown: Bool { shutDown.load(ordering: .relaxed) }

    init(_ name: String, _ service: RemoteSettingsService) {
        self.name = name
        self.service = service
    }

    /// - Throws: where the name is not one that a collection can have.
    func collection() throws(RemoteSettingsError) -> LocalCollection { try service.collection(name) }

    /// The name that the client was made with.
    public func collectionName() -> String { name }

    /// The records that are for this app, all of one state of the collection, sorted by id; `nil` where nothing is held.
    ///
    /// Never uses the network. The first call in a process does I/O: it reads, and where needed verifies, what is held.
    /// Each later call checks with one `lstat` whether another process has stored something newer.
    public func getRecords() -> [RemoteSettingsRecord]? {
        try? collection().records()
    }

    /// Like ``getRecords()``. If nothing is held and `syncIfEmpty` is set, the collection is synced first, over the network;
    /// if that fails, the answer is `nil`.
    ///
    /// A failure that was just seen is not repeated: until ``SnapshotStatus/recentFailure`` says that the network is asked
    /// again, in at most a minute, the answer is `nil` at once. `sync()` asks at any time, and
    /// ``RemoteSettingsService/networkChanged()`` ends the pause.
    public func getRecords(syncIfEmpty: Bool) async -> [RemoteSettingsRecord]? {
        guard let collection = try? collection() else { return nil }
        if let records = collection.records() { return records }
        guard syncIfEmpty, !isShutDown else { return nil }
        _ = await collection.syncIfEmpty(owner: ObjectIdentifier(self))
        return collection.records()
    }

    /// The records of ``getRecords()`` by their ids.
    public func getRecordsMap() -> [String: RemoteSettingsRecord]? {
        getRecords().map(Self.map)
    }

    /// The records of `getRecords(syncIfEmpty:)` by their ids.
    public func getRecordsMap(syncIfEmpty: Bool) async -> [String: RemoteSettingsRecord]? {
        await getRecords(syncIfEmpty: syncIfEmpty).map(Self.map)
    }

    private static func map(_ records: [RemoteSettingsRecord]) -> [String: RemoteSettingsRecord] {
        Dictionary(records.lazy.map { ($0.id, $0) }) { first, _ in first }
    }

    /// The collection's timestamp, in milliseconds since 1970; `nil` where nothing is held. Never uses the network; does
    /// I/O as ``getRecords()`` does.
    public func getLastModifiedTimestamp() -> UInt64? { (try? collection())?.held().timestamp?.milliseconds }

    /// Where the records come from, their age, what vouches for them, and which snapshots are not used and why. Never uses
    /// the network; does I/O as ``getRecords()`` does.
    public var snapshot: SnapshotStatus {
        guard let collection = try? collection() else {
            return SnapshotStatus(collection: name, source: .none, unused: [])
        }
        return collection.status
    }

    /// What syncs change from now on, as far as the app's filters let it see. What another process that shares the storage
    /// directory has stored is told when a read or a sync of this process notices it. Each call makes a stream of its own.
    /// Changes that a stream has not been read for are merged into one, which leads to the present records.
    public var changes: AsyncStream<RecordChanges> {
        guard !isShutDown, let id = try? collection().id else { return AsyncStream<RecordChanges> { $0.finish() } }
        return service.changes.listen(to: id, owner: ObjectIdentifier(self))
    }

    /// Brings the collection to the server's state. Uses the network. Calls at the same time share one sync.
    ///
    /// - Throws: ``RemoteSettingsError``. The records that were held stay.
    public func sync() async throws(RemoteSettingsError) {
        _ = try await sync(expected: nil, trigger: .manual)
    }

    /// Like `sync()`, with what the telemetry is told as the reason of the sync.
    @discardableResult
    public func sync(trigger: UptakeEvent.Trigger) async throws(RemoteSettingsError) -> SyncOutcome {
        try await sync(expected: nil, trigger: trigger)
    }

    /// Like `sync()`, for a push message.
    ///
    /// - Parameter expectedTimestamp: the timestamp that the message announced, in milliseconds since 1970. It gets the
    ///   server's answer past caches.
    @discardableResult
    public func sync(expectedTimestamp: UInt64) async throws(RemoteSettingsError) -> SyncOutcome {
        try await sync(expected: Timestamp(milliseconds: expectedTimestamp), trigger: .broadcast)
    }

    func sync(
        expected: Timestamp?, trigger: UptakeEvent.Trigger
    ) async throws(RemoteSettingsError) -> SyncOutcome {
        guard !isShutDown else { throw .closed }
        return try await collection().sync(expected: expected, trigger: trigger, owner: ObjectIdentifier(self)).get()
    }

    /// Removes everything that was stored of the collection, including what protects it from older states. What is
    /// packaged serves again. Does I/O.
    ///
    /// - Throws: ``RemoteSettingsError/Other(reason:)`` where the files cannot be removed, or another process is writing.
    public func resetStorage() throws(RemoteSettingsError) {
        let collection = try collection()
        do {
            try collection.reset()
        } catch {
            throw RemoteSettingsError(error)
        }
    }

    /// Ends this client: its streams of changes end, its syncs fail, those under way included, and the service no longer
    /// syncs its collection on its behalf. Reads go on being answered. Other clients of the collection are not affected.
    public func shutdown() {
        shutDown.store(true, ordering: .relaxed)
        service.session.syncs.leave(ObjectIdentifier(self))
        service.changes.finish(ObjectIdentifier(self))
    }
}
