import RemoteSettingsHTTP
import RemoteSettingsModel

/// One collection, as an app reads and syncs it. ``RemoteSettingsService/makeClient(collectionName:)`` makes clients. A
/// client may be used from many threads.
public final class RemoteSettingsClient: Sendable {
    private let name: String
    let service: RemoteSettingsService
    let owner = WorkOwner()
    /// Called whenever a sync of the collection has succeeded.
    let syncObserver = Mutex<(@Sendable (_ began: Timestamp) async -> Void)?>(nil)

    package var isShutDown: Bool { owner.isShutDown }

    init(_ name: String, _ service: RemoteSettingsService) {
        self.name = name
        self.service = service
    }

    deinit { service.changes.finish(owner) }

    /// - Throws: if no collection can have the client's name.
    package func collection() throws(RemoteSettingsError) -> LocalCollection { try service.collection(name) }

    /// The name that the client was made with.
    public func collectionName() -> String { name }

    /// The records that are meant for this app, sorted by id; `nil` if nothing is held. All are of one state of the
    /// collection.
    ///
    /// Never uses the network. The first call in a process does I/O: it reads what is held, and verifies it if needed.
    /// Each later call checks with one `lstat` whether another process has stored something newer.
    public func getRecords() -> [RemoteSettingsRecord]? {
        try? collection().records()
    }

    /// The collection's timestamp, in milliseconds since 1970; `nil` if nothing is held.
    ///
    /// Never uses the network. Does I/O as ``getRecords()`` does.
    public func getLastModifiedTimestamp() -> UInt64? { (try? collection())?.current().timestamp?.milliseconds }

    /// Where the records come from, their age and trust, and which snapshots are not used and why.
    ///
    /// Never uses the network. Does I/O as ``getRecords()`` does.
    public var status: CollectionStatus {
        do throws(RemoteSettingsError) { return try collection().status } catch {
            return CollectionStatus(
                collection: name, source: .notHeld,
                rejected: [.init(source: .notHeld, timestamp: nil, reason: .invalidName("\(error)"))])
        }
    }

    /// The records that are meant for this app, now and after each change of them.
    ///
    /// The first element is what is held at the call, empty if that is nothing. Nothing between the two is missed: a
    /// sync that ends meanwhile is an element of its own, or part of the first one. States that pile up unread are left
    /// out, but for the newest.
    ///
    /// Does I/O as ``getRecords()`` does, and opens the update channel as ``changes()`` does. Each call makes a new
    /// stream, which ends when the client is shut down or released.
    public func recordUpdates() -> AsyncStream<[RemoteSettingsRecord]> {
        let changes = changes()
        let first = Mutex<[RemoteSettingsRecord]?>(getRecords() ?? [])
        return AsyncStream {
            if let first = first.withLock({ first in
                defer { first = nil }
                return first
            }) {
                return first
            }
            for await change in changes { return change.current }
            return nil
        }
    }

    /// What syncs change from now on, seen through the app's filters.
    ///
    /// The call is a listener: it opens the service's update channel (``UpdatePolicy``) if that is not open yet.
    /// Each call makes a new stream. If another process that shares the storage directory stores a change, the stream
    /// delivers it when a read or a sync of this process notices it. Changes that pile up unread are merged into one,
    /// which leads to the current records. The stream ends when the client is shut down or released.
    public func changes() -> AsyncStream<RecordChanges> {
        guard let id = try? collection().id else { return AsyncStream<RecordChanges> { $0.finish() } }
        return service.changes.changes(of: id, owner: owner)
    }

    /// Brings the collection to the server's state. Uses the network. Concurrent calls share one sync.
    ///
    /// - Parameters:
    ///   - timestamp: the timestamp that a push message announced; `nil` for none. The request carries it, so that no
    ///     cache on the way answers in the server's place.
    ///   - trigger: the reason that telemetry reports. If it is `nil`, that is `broadcast` with an expected timestamp,
    ///     else `manual`.
    ///   - timeout: the longest time to wait; `nil` for the limits of ``RemoteSettingsLimits``. The sync ends then,
    ///     unless others wait for it as well.
    /// - Returns: whether something changed.
    /// - Throws: ``RemoteSettingsError``, ``RemoteSettingsError/timedOut(reason:)`` if the time is over. The records
    ///   that were held stay.
    @discardableResult
    public func sync(
        expecting timestamp: RemoteSettingsTimestamp? = nil, trigger: UptakeEvent.Trigger? = nil,
        timeout: Duration? = nil
    ) async throws(RemoteSettingsError) -> SyncOutcome {
        let trigger = trigger ?? (timestamp == nil ? .manual : .broadcast)
        return try await service.session.within(timeout) { () async throws(RemoteSettingsError) in
            guard !self.isShutDown else { throw .closed }
            return try await self.collection().sync(
                expected: timestamp, trigger: trigger, owner: self.owner, outlivesCaller: timeout == nil
            ).result.get()
        }
    }

    /// Removes everything that is stored of the collection, including what protects it from older states.
    ///
    /// Packaged records are then used again. Does I/O.
    ///
    /// - Throws: ``RemoteSettingsError`` if the files cannot be removed, or if another process is
    ///   writing.
    public func resetStorage() async throws(RemoteSettingsError) {
        let collection = try collection()
        do {
            try await WorkThreads.run { try collection.reset() }
        } catch {
            throw RemoteSettingsError(error)
        }
    }

    /// Ends this client.
    ///
    /// Its streams of changes end. Its syncs fail from now on, including those under way. The service no longer syncs
    /// the collection on its behalf. Reads are still answered, and other clients of the collection are not affected.
    public func shutdown() {
        owner.shutdown()
        service.session.syncs.leave(owner)
        service.session.serviceSyncs.leave(owner)
        service.changes.finish(owner)
    }
}
