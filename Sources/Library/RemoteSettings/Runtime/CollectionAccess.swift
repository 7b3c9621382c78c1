import RemoteSettingsHTTP
import RemoteSettingsModel
import TargetFilter

/// One collection under the configuration in force, for other modules of this package.
///
/// It gives them verified snapshots, and the collection's entry in the index.
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

    private let collection: LocalCollection

    init(_ collection: LocalCollection) { self.collection = collection }

    private var session: Session { collection.session }

    package var id: CollectionID { collection.id }
    package var environment: HTTPEnvironment { session.config.environment }
    package var limits: Limits { session.limits }
    package var filterContext: FilterContext { session.filterContext }
    /// The server's URL without the version of its protocol.
    package var server: String { (try? session.server.get()).map { ServerIdentity($0).description } ?? "" }
    /// The collection's entry in the index. A reset of the collection removes it as well.
    ///
    /// While a file replaces the collection, what is kept has an entry of its own, because nothing verifies it.
    private var key: String { collection.overriding == nil ? collection.key : "\(collection.key)@override" }
    /// The file that replaces the collection during development; `nil` if there is none.
    package var overridingPath: String? { collection.overriding?.path }

    /// The snapshot in use: the newest one, cached or packaged. Does I/O as a read of records does.
    package func current() -> Found? { Self.found(collection.current()) }

    /// The newest of the activated and the packaged snapshots, verified. Does I/O.
    ///
    /// - Parameters:
    ///   - slot: what was activated; `nil` if that is not looked at.
    ///   - subject: whose set aside states are passed over; `nil` to pass over none.
    ///   - usesPackaged: whether a packaged snapshot may be the newest.
    ///   - rejected: why snapshots are not used.
    package func newest(
        of slot: StorageIndex.Slot?, _ subject: StateTrials.Subject? = nil, usesPackaged: Bool = true,
        rejected: inout [SnapshotStatus.Rejected]
    ) -> Found? {
        let current =
            collection.overriding == nil
            ? session.choice.choose(
                id, from: slot ?? .init(), usesPackaged: usesPackaged, isActivation: true,
                asking: subject.map { trials.trial(of: $0) }) : collection.current()
        rejected += current.rejected
        return Self.found(current)
    }

    /// What the index has of the collection. Does I/O.
    package var entry: StorageIndex.Collection { session.storage.index()[key] }

    /// Changes what the index has of the collection, while no other process does. What cannot be written holds for this
    /// process, unless it must be stored.
    ///
    /// - Returns: what `change` returns, and why it could not be written.
    package func update<Value>(
        mustBeStored: Bool = false, _ change: (inout StorageIndex.Collection) throws -> Value
    ) async throws -> (value: Value, problem: (any Error)?) {
        let key = key
        return try await session.storage.update(mustBeStored: mustBeStored) { try change(&$0[key]) }
    }

    /// Like the asynchronous one, but blocks the thread while another process writes: for 20 ms if `isBrief` is set.
    package func updateBlocking<Value>(
        isBrief: Bool = false, _ change: (inout StorageIndex.Collection) throws -> Value
    ) throws -> (value: Value, problem: (any Error)?) {
        let key = key
        return try session.storage.update(waiting: isBrief ? .briefly : .long, flushing: !isBrief) {
            try change(&$0[key])
        }
    }

    /// Reports once that the storage directory cannot be written.
    package func reportStorage(_ problem: any Error) { session.reportStorage(problem) }

    /// Makes a verified snapshot the activated one. Call it while the entry is changed.
    ///
    /// - Parameter subject: how what was activated before has fared.
    package func activate(_ snapshot: Snapshot, in entry: inout StorageIndex.Collection, _ subject: StateTrials.Subject)
    {
        let state = StateTrial.State(snapshot)
        let synced = entry.synced.current.flatMap { $0.state == state && session.storage.has($0) ? $0 : nil }
        let server = (try? session.server.get()).map { "\($0)" } ?? ""
        session.replace(
            &entry.activated, by: synced ?? session.storage.add(CacheFile(snapshot, server: server)), subject)
    }

    /// How the states that were kept have fared.
    package var trials: StateTrials { session.allTrials }
    /// The trial of what is kept beside the cache.
    package var keptTrial: StateTrials.Subject { .init(key: key, isActivated: true) }
    /// The trial of the cached states.
    package var cachedTrial: StateTrials.Subject { collection.subject }
    package var validationTimeout: Duration { session.config.validationTimeout }

    /// The state to go back to, verified; `nil` if there is none. Does I/O.
    package func previous(_ subject: StateTrials.Subject) -> Snapshot? {
        session.storage.index()[subject.key][keyPath: subject.slot].previous.flatMap {
            try? session.choice.snapshot(of: $0, id, isKnownSigned: collection.current().isKnownSigned)
        }
    }

    /// Tells telemetry that a state was refused.
    package func report(_ rejection: RemoteSettingsError) {
        session.report("\(id)", .rejectedError, .manual, since: session.now, error: rejection)
    }

    private static func found(_ current: CurrentState) -> Found? {
        current.snapshot.map { Found(snapshot: $0, source: current.source, isOfCatalogue: current.isOfCatalogue) }
    }

    /// Whether the service was shut down.
    package var isClosed: Bool { session.isClosed }

    /// How long to wait until a scheduled fetch may be due; zero or less if it is due. Does I/O.
    package func pause(_ schedule: SyncSchedule) -> Duration { schedule.pause(session, [collection]) }

    /// Writes down that a scheduled fetch begins, unless another process has done it.
    package func begin(_ schedule: SyncSchedule) async throws -> Bool {
        try await schedule.begin(session, [collection])
    }

    /// Writes down that a scheduled fetch has succeeded.
    package func end(_ schedule: SyncSchedule) async { await schedule.end(session) }

    package func warn(_ text: String) { session.logger.warning("\(text)") }

    /// Yields whenever another state of the collection comes into use, whatever filters the app has. Ends with the
    /// service.
    package func stores() -> AsyncStream<Void> { session.changes.stores(of: id) }
}

extension RemoteSettingsClient {
    /// Keeps the service's update channel open until the returned object is released.
    ///
    /// - Parameter onProblem: called once for each reason why listeners do not hear of what is published.
    package func listenForUpdates(
        onProblem: @escaping @Sendable (UpdateProblem) -> Void
    ) -> Subscription { service.updates.listen(onProblem: onProblem) }

    /// Calls `body` whenever a sync of the collection has succeeded, until the client is shut down.
    ///
    /// It does not matter who asked for the sync. The call for the sync returns only after `body`.
    ///
    /// - Parameter body: receives the time at which the sync began.
    package func onSync(_ body: @escaping @Sendable (_ began: Timestamp) async -> Void) {
        syncObserver.withLock { $0 = body }
    }

    /// Syncs for a caller with its own time limit. The sync ends with the caller, unless others want it too.
    package func syncWhileAwaited(expecting timestamp: Timestamp?) async throws(RemoteSettingsError)
        -> CollectionSyncResult
    {
        try await collection().sync(
            expected: timestamp, trigger: timestamp == nil ? .manual : .broadcast, owner: owner, outlivesCaller: false)
    }

    package func markStartSuccessful() throws(RemoteSettingsError) { try service.markStartSuccessful() }

    /// - Throws: ``RemoteSettingsError`` if no collection can have the name.
    package var access: CollectionAccess {
        get throws(RemoteSettingsError) { CollectionAccess(try collection()) }
    }
}
