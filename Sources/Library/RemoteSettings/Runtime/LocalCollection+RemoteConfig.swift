import RemoteSettingsHTTP
import RemoteSettingsModel
import TargetFilter

// The interface between remote config and its collection.
extension LocalCollection {
    /// A suffix of the index keys while a local file replaces the collection. Remote config's data is stored separately
    /// then, because the file is not verified.
    private var suffix: String { overriding == nil ? "" : "@override" }
    /// The key of the collection's entry in ``StorageIndex/configs``.
    package var configKey: String { "\(id)\(suffix)" }
    /// The subject of the trial of activated states. Its key is also the key of their entry in the index.
    package var activated: StateTrials.Subject { .init(key: key + suffix, isActivated: true) }
    /// The path of the local file that replaces the collection during development; `nil` if there is none.
    package var overridingPath: String? { overriding?.path }

    /// Returns the newest of the activated and packaged snapshots, verified. Does I/O.
    ///
    /// - Parameters:
    ///   - slot: the activated states.
    ///   - subject: the subject whose rejected states are skipped; `nil` to skip none.
    ///   - usesPackaged: whether a packaged snapshot may be returned.
    package func newest(
        of slot: StorageIndex.Slot = .init(), _ subject: StateTrials.Subject? = nil, usesPackaged: Bool = true
    ) -> CurrentState {
        guard overriding == nil else { return current() }
        return session.choice.choose(
            id, from: slot, usesPackaged: usesPackaged, isActivation: true,
            asking: subject.map { session.trials.trial(of: $0) } ?? StateTrial())
    }

    /// Marks a verified snapshot as activated. Call it in a closure that changes the index.
    ///
    /// - Parameter subject: the subject of the trial of activated states.
    package func activate(_ snapshot: Snapshot, in index: inout StorageIndex, _ subject: StateTrials.Subject) {
        let state = StateTrial.State(snapshot)
        var entry = index[activated.key]
        let synced = entry.synced.current.flatMap { stored in
            stored.state == state && entry.refused != stored.file && session.storage.isWhole(stored) ? stored : nil
        }
        let server = (try? session.server.get()).map { "\($0)" } ?? ""
        let stored = synced ?? session.storage.add(CacheFile(snapshot, server: server), to: &index)
        session.replace(&entry.activated, by: stored, subject)
        index[activated.key] = entry
    }

    /// Returns the verified state to roll back to; `nil` if there is none. Does I/O.
    package func previous(_ subject: StateTrials.Subject) -> Snapshot? {
        session.storage.index()[subject.key][keyPath: subject.slot].previous.flatMap {
            try? session.choice.snapshot(of: $0, id, isKnownSigned: current().isKnownSigned)
        }
    }

    /// Reports to telemetry that a state was rejected.
    package func report(_ rejection: RemoteSettingsError) {
        session.report("\(id)", .rejectedError, .manual, since: session.now, error: rejection)
    }

    /// Returns a stream with an element whenever a different state of the collection comes into use, regardless of the
    /// app's filters. It finishes with the service.
    package func stores() -> AsyncStream<Void> { session.changes.stores(of: id) }
}

extension RemoteSettingsClient {
    /// Keeps the service's update channel open until the returned object is released.
    ///
    /// - Parameter onProblem: a closure that is called once for each reason that announcements do not reach the
    ///   listeners.
    package func listenForUpdates(
        onProblem: @escaping @Sendable (UpdateProblem) -> Void
    ) -> Subscription { service.updates.listen(onProblem: onProblem) }

    /// Sets a closure that is called after each successful sync of the collection, until the client is shut down.
    ///
    /// The closure is also called if other code requested the sync. The call that requested it returns only after
    /// `body` has returned.
    ///
    /// - Parameter body: receives the time when the sync began.
    package func onSync(_ body: @escaping @Sendable (_ began: Timestamp) async -> Void) {
        syncObserver.withLock { $0 = body }
    }

    /// Syncs for a caller that enforces a time limit itself. If the caller is cancelled, the sync is cancelled too,
    /// unless other callers wait for it.
    package func syncWhileAwaited(expecting timestamp: Timestamp?) async throws(RemoteSettingsError)
        -> CollectionSyncResult
    {
        try await collection().sync(
            expected: timestamp, trigger: timestamp == nil ? .manual : .broadcast, owner: owner, outlivesCaller: false)
    }

    package func markStartSuccessful() throws(RemoteSettingsError) { try service.markStartSuccessful() }
}
