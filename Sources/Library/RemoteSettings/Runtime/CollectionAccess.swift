import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import TargetFilter

/// One collection under the configuration in force, for other modules of this package.
///
/// It gives them verified snapshots, and a place in the storage directory to keep one beside the cache.
package struct CollectionAccess: Sendable {
    /// A verified snapshot, and where it came from.
    package struct Found: Sendable {
        package var snapshot: Snapshot
        /// ``SnapshotStatus/Source/cached`` if a sync has stored it, or if it was kept.
        package var source: SnapshotStatus.Source
        /// Whether it is the state that the catalogue lists. Its timestamp does not count then.
        package var isOfCatalogue = false

        init(snapshot: Snapshot, source: SnapshotStatus.Source, isOfCatalogue: Bool) {
            (self.snapshot, self.source, self.isOfCatalogue) = (snapshot, source, isOfCatalogue)
        }

        /// What a sync is about to store.
        package init(fetched snapshot: Snapshot) {
            self.init(snapshot: snapshot, source: .cached, isOfCatalogue: false)
        }
    }

    /// How a sync ended.
    package struct Uptake: Sendable {
        package let status: UptakeEvent.Status
        /// The status of the server's answer, if that is why the sync failed.
        package let httpStatus: Int?
    }

    private let collection: LocalCollection

    init(_ collection: LocalCollection) { self.collection = collection }

    private var session: Session { collection.session }

    package var id: CollectionID { collection.id }
    package var environment: HTTPEnvironment { session.config.environment }
    package var limits: Limits { session.limits }
    package var filterContext: FilterContext { session.filterContext }
    /// The server's URL without the version of its protocol.
    package var server: String { (try? session.server.get()).map { ServerIdentity($0).description } ?? "" }
    /// A file of the collection in the storage directory. A reset of the collection removes it as well.
    ///
    /// While a file replaces the collection, what is kept lies in a separate place, because nothing verifies it.
    package var keptPath: String {
        collection.overriding == nil ? session.storage.keptPath(id) : session.storage.keptOverridePath(id)
    }
    /// The file that replaces the collection during development; `nil` if there is none.
    package var overridingPath: String? { collection.overriding?.path }

    /// The snapshot in use: the newest one, cached or packaged. Does I/O as a read of records does.
    package func current() -> Found? { Self.found(collection.current()) }

    /// The newest of the kept and the packaged snapshots, verified like a cache file.
    ///
    /// Does I/O for packaged directories. The cache is not looked at.
    ///
    /// - Parameters:
    ///   - content: the result of ``content(of:)``; `nil` if nothing was kept.
    ///   - subject: whose set aside states are passed over; `nil` to pass over none.
    ///   - usesPackaged: whether a packaged snapshot may be the newest.
    ///   - rejected: why snapshots are not used.
    package func newest(
        kept content: Bytes?, _ subject: StateTrials.Subject? = nil, usesPackaged: Bool = true,
        rejected: inout [SnapshotStatus.Rejected]
    ) -> Found? {
        let current =
            collection.overriding == nil
            ? session.loader.load(
                id, kept: content, usesPackaged: usesPackaged, subject.map { (trials, $0) }) : collection.current()
        rejected += current.rejected
        return Self.found(current)
    }

    /// How the states that were kept have fared.
    package var trials: StateTrials { session.allTrials }
    /// The trial of what is kept beside the cache.
    package var keptTrial: StateTrials.Subject { session.storage.configTrial(of: keptPath) }
    /// The trial of the cached states.
    package var cachedTrial: StateTrials.Subject { session.storage.trial(of: id) }
    package var validationTimeout: Duration { session.config.validationTimeout }

    /// The kept state to go back to, verified; `nil` if there is none. Does I/O.
    package func previous(_ subject: StateTrials.Subject) -> Snapshot? {
        session.loader.previousSnapshot(
            id, at: subject.previousPath, isKnownSigned: collection.current().isKnownSigned)
    }

    /// Makes a kept state, which is about to be replaced, the one to go back to if it is worth it. Call it under the
    /// storage lock. It does nothing if starts are not counted.
    package func keepPrevious(_ content: Bytes, _ subject: StateTrials.Subject) throws(FileError) {
        guard trials.isSafeStart,
            let old = try? CacheFile(parsing: content, of: id, path: keptPath, limits: limits)
        else { return }
        let kept = try? session.storage.head(of: id, at: subject.previousPath, limits: limits)
        guard trials.keeps(old.timestamp, of: subject, before: kept?.timestamp) else { return }
        try FileStore.replace(subject.previousPath, below: session.storage.path, with: content)
    }

    /// Tells telemetry that a state was refused.
    package func report(_ rejection: StateRejection) {
        session.report("\(id)", .rejectedError, .manual, since: session.now, error: rejection)
    }

    private static func found(_ current: CurrentState) -> Found? {
        current.snapshot.map { Found(snapshot: $0, source: current.source, isOfCatalogue: current.isOfCatalogue) }
    }

    /// A snapshot and what vouches for it, as bytes to be kept.
    package func content(of snapshot: Snapshot) -> Bytes {
        let server = (try? session.server.get()).map { "\($0)" } ?? ""
        return CacheFile(snapshot, server: server).bytes
    }

    /// The outcome of the collection's last sync in this process.
    ///
    /// If the list of collections could not be fetched, it is the outcome of that request.
    package var lastUptake: Uptake? {
        let monitor = session.lastUptake(of: "settings-changes-monitoring")
        let hasMonitor = monitor.map { $0.status == .success || $0.status == .upToDate } ?? true
        return hasMonitor ? session.lastUptake(of: "\(id)") : monitor
    }

    /// Whether the service was shut down.
    package var isClosed: Bool { session.isClosed }

    /// How long to wait until a scheduled fetch may be due; zero or less if it is due. Does I/O.
    package func pause(_ schedule: SyncSchedule) -> Duration { schedule.pause(session) }

    /// Writes down that a scheduled fetch begins, unless another process has done it.
    package func begin(_ schedule: SyncSchedule) async throws -> Bool { try await schedule.begin(session) }

    /// Writes down that a scheduled fetch has succeeded.
    package func end(_ schedule: SyncSchedule) async { await schedule.end(session) }

    package func warn(_ text: String) { session.logger.warning("\(text)") }

    /// Cancels a sync of the collection that nobody waits for any more, so that the next one does not wait for it.
    package func cancelAbandonedSync() {
        if session.publisher == nil {
            session.syncs.cancelIfAbandoned(id)
        } else {
            session.serviceSyncs.cancelIfAbandoned(true)
        }
    }

    /// Yields whenever another state of the collection comes into use, whatever filters the app has. Ends with the
    /// service.
    package func stores() -> AsyncStream<Void> { session.changes.stores(of: id) }

    /// Makes the storage directory, and runs `body` while no other process or session writes to it.
    package func withStorageLock<Value>(_ body: () throws -> Value) async throws -> Value {
        try await session.withStorageLock {
            try FileStore.makeDirectories(FileStore.parent(of: keptPath), below: session.storage.path)
            return try body()
        }
    }

    /// Like the asynchronous one, but blocks the thread when another process is writing.
    ///
    /// - Parameter tries: how often the lock is asked for, with pauses of 2 ms; `nil` for
    ///   ``Limits/storageLockSeconds``.
    package func withStorageLockBlocking<Value>(tries: Int? = nil, _ body: () throws -> Value) throws -> Value {
        try session.storage.withLockBlocking(tries: tries ?? limits.storageLockSeconds * 500) {
            try FileStore.makeDirectories(FileStore.parent(of: keptPath), below: session.storage.path)
            return try body()
        }
    }
}

extension RemoteSettingsClient {
    /// Keeps the service's update channel open until the returned object is released.
    ///
    /// - Parameter onProblem: called once for each reason why listeners do not hear of what is published.
    package func listenForUpdates(
        onProblem: @escaping @Sendable (UpdateProblem) -> Void
    ) -> UpdateListening { service.updates.listen(onProblem: onProblem) }

    /// Calls `body` whenever a sync of the collection has succeeded, until the returned object is released.
    ///
    /// It does not matter who asked for the sync. The call for the sync returns only after `body`.
    ///
    /// - Parameter body: receives the time at which the sync began.
    package func onSync(_ body: @escaping @Sendable (_ began: Timestamp) async -> Void) -> UpdateListening {
        service.changes.onSync { [weak self] id, began in
            guard let self, (try? self.collection())?.id == id else { return }
            await body(began)
        }
    }

    package func markStartSuccessful() throws(RemoteSettingsError) { try service.markStartSuccessful() }

    /// - Throws: ``RemoteSettingsError`` if no collection can have the name.
    package var access: CollectionAccess {
        get throws(RemoteSettingsError) { CollectionAccess(try collection()) }
    }
}
