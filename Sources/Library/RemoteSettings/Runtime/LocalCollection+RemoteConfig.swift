import RemoteSettingsHTTP
import RemoteSettingsModel
import TargetFilter

// What remote config needs of its collection.
extension LocalCollection {
    /// What remote config keeps in the index while a file replaces the collection has an entry of its own, because
    /// nothing verifies it.
    private var suffix: String { overriding == nil ? "" : "@override" }
    /// The collection's entry in ``StorageIndex/configs``.
    package var configKey: String { "\(id)\(suffix)" }
    /// Whose trial that of the activated states is. Its key is that of their entry in the index.
    package var activated: StateTrials.Subject { .init(key: key + suffix, isActivated: true) }
    /// The file that replaces the collection during development; `nil` if there is none.
    package var overridingPath: String? { overriding?.path }

    /// The newest of the activated and the packaged snapshots, verified. Does I/O.
    ///
    /// - Parameters:
    ///   - slot: what was activated.
    ///   - subject: whose set aside states are passed over; `nil` to pass over none.
    ///   - usesPackaged: whether a packaged snapshot may be the newest.
    package func newest(
        of slot: StorageIndex.Slot = .init(), _ subject: StateTrials.Subject? = nil, usesPackaged: Bool = true
    ) -> CurrentState {
        guard overriding == nil else { return current() }
        return session.choice.choose(
            id, from: slot, usesPackaged: usesPackaged, isActivation: true,
            asking: subject.map { session.trials.trial(of: $0) } ?? StateTrial())
    }

    /// Makes a verified snapshot the activated one. Call it while the index is changed.
    ///
    /// - Parameter subject: how what was activated before has fared.
    package func activate(_ snapshot: Snapshot, in index: inout StorageIndex, _ subject: StateTrials.Subject) {
        let state = StateTrial.State(snapshot)
        var entry = index[activated.key]
        let synced = entry.synced.current.flatMap { $0.state == state && session.storage.has($0) ? $0 : nil }
        let server = (try? session.server.get()).map { "\($0)" } ?? ""
        session.replace(
            &entry.activated, by: synced ?? session.storage.add(CacheFile(snapshot, server: server)), subject)
        index[activated.key] = entry
    }

    /// The state to go back to, verified; `nil` if there is none. Does I/O.
    package func previous(_ subject: StateTrials.Subject) -> Snapshot? {
        session.storage.index()[subject.key][keyPath: subject.slot].previous.flatMap {
            try? session.choice.snapshot(of: $0, id, isKnownSigned: current().isKnownSigned)
        }
    }

    /// Tells telemetry that a state was refused.
    package func report(_ rejection: RemoteSettingsError) {
        session.report("\(id)", .rejectedError, .manual, since: session.now, error: rejection)
    }

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
}
