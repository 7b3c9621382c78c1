import Observation
import RemoteSettingsHTTP
import RemoteSettingsModel

/// A client that reads and syncs one collection. Create it with ``RemoteSettingsService/makeClient(collectionName:)``.
/// It can be used from any thread.
///
/// Reads use the newest trusted local state: one that was stored by a sync or packaged with the app. The class is
/// `Observable`, on Apple systems since iOS 17 and macOS 14: a SwiftUI view that reads records is updated when they
/// change.
public final class RemoteSettingsClient: Sendable {
    private let name: String
    let service: RemoteSettingsService
    let owner = WorkOwner()
    /// A closure that is called after each successful sync of the collection.
    let syncObserver = Mutex<(@Sendable (_ began: Timestamp) async -> Void)?>(nil)

    package var isShutDown: Bool { owner.isShutDown }

    init(_ name: String, _ service: RemoteSettingsService) {
        self.name = name
        self.service = service
    }

    deinit {
        if !isShutDown { service.session.logger.debug("\(name): its client was released, so it is no longer synced") }
        service.changes.finish(owner)
    }

    /// Returns the client's collection.
    ///
    /// - Throws: an error if the client's name is not a valid collection name.
    package func collection() throws(RemoteSettingsError) -> LocalCollection { try service.collection(name) }

    /// The name that the client was created with.
    public var collectionName: String { name }

    /// The records that match this app's context, sorted by id; `nil` if there is no local state. All belong to
    /// one state of the collection.
    ///
    /// Never uses the network. The first call in a process does I/O: it reads the newest local state and verifies it if
    /// necessary. Each later call only checks with one `lstat` whether another process has stored a newer state.
    public var records: [RemoteSettingsRecord]? { try? collection().records() }

    /// Returns the collection's timestamp, in milliseconds since 1970; `nil` if there is no local state.
    ///
    /// Never uses the network. Does I/O like ``records``.
    package func getLastModifiedTimestamp() -> UInt64? { (try? collection())?.current().timestamp?.milliseconds }

    /// The source, age and trust of the records, and the snapshots that are not used.
    ///
    /// Never uses the network. Does I/O like ``records``.
    public var status: CollectionStatus {
        do throws(RemoteSettingsError) { return try collection().status } catch {
            return CollectionStatus(
                collection: name, source: .noSnapshot,
                unused: [.init(source: .noSnapshot, timestamp: nil, reason: .invalidName("\(error)"))])
        }
    }

    /// Returns a stream of the records that match this app's context: first the current ones, then those after each
    /// change.
    ///
    /// The first element is empty if there are no records yet. No change is missed between the call and the second
    /// element: a sync that finishes in the meantime is either a separate element or part of the first one. If the
    /// reader is slow, only the newest of the unread states is delivered.
    ///
    /// Does I/O like ``records``, and opens the update channel like ``changes()``. Each call creates a new stream,
    /// which finishes when the client is shut down or released.
    public func recordUpdates() -> AsyncStream<[RemoteSettingsRecord]> {
        let changes = changes()
        let first = Mutex<[RemoteSettingsRecord]?>(records ?? [])
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

    /// Returns a stream of the changes made by future syncs, after the app's filters are applied.
    ///
    /// The stream counts as a listener: it opens the service's update channel (``RemoteSettingsConfig/UpdatePolicy``)
    /// if that is not open yet. Each call creates a new stream. If another process that shares the storage directory
    /// stores a change, the stream delivers it when a read or a sync in this process notices it. Unread changes are
    /// merged into one, which leads to the current records. The stream finishes when the client is shut down or
    /// released.
    public func changes() -> AsyncStream<RecordChanges> {
        guard let id = try? collection().id else { return AsyncStream<RecordChanges> { $0.finish() } }
        return service.changes.changes(of: id, owner: owner)
    }

    /// Updates the collection to the server's state. Uses the network. Concurrent calls share one sync.
    ///
    /// - Parameters:
    ///   - timestamp: the timestamp that a push message announced; `nil` for none. The request contains it, so that no
    ///     cache on the network path answers with an older response.
    ///   - trigger: the reason reported to telemetry. If it is `nil`, `broadcast` is reported if there is an expected
    ///     timestamp, otherwise `manual`.
    ///   - timeout: the longest time to wait; `nil` for the limits of ``RemoteSettingsLimits``. When it expires, the
    ///     sync is cancelled unless other callers are waiting for it too.
    /// - Returns: whether a newer state was stored, and the collection's timestamp.
    /// - Throws: ``RemoteSettingsError``, such as ``RemoteSettingsError/timedOut(reason:)``. The current records remain
    ///   in use.
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

    /// Removes all stored data of the collection, including the data that protects it from rollbacks to older states.
    ///
    /// Packaged records are then used again. Does I/O.
    ///
    /// - Throws: ``RemoteSettingsError`` if the files cannot be removed, or if another process is writing.
    public func resetStorage() async throws(RemoteSettingsError) {
        let collection = try collection()
        do {
            try await WorkThreads.run { try collection.reset() }
        } catch {
            throw RemoteSettingsError(error)
        }
    }

    /// Shuts down this client.
    ///
    /// Its streams of changes finish, and its syncs fail from now on, including running ones. The service no longer
    /// syncs the collection for this client. Reads still work, and other clients of the collection are not affected.
    public func shutdown() {
        owner.shutdown()
        service.session.syncs.leave(owner)
        service.session.serviceSyncs.leave(owner)
        service.changes.finish(owner)
    }
}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
extension RemoteSettingsClient: Observable {}
