import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension LocalCollection {
    /// Updates the collection to the server's state. Uses the network. Concurrent calls share one sync.
    ///
    /// - Parameters:
    ///   - expected: the timestamp that a push message announced.
    ///   - owner: the client that requests the sync.
    ///   - outlivesCaller: whether the sync continues if the caller is cancelled.
    func sync(
        expected: Timestamp? = nil, trigger: UptakeEvent.Trigger, owner: WorkOwner, outlivesCaller: Bool = true
    ) async -> CollectionSyncResult {
        if let outcome = outcomeWithoutNetwork { return CollectionSyncResult(id, outcome) }
        let result = await session.syncs.run(
            id, expected: expected, owner: owner, outlivesCaller: outlivesCaller
        ) { [self] _ in
            defer { session.keepNotes() }
            do {
                return .success(try await SyncRun(session, expected: expected, trigger: trigger).sync(self))
            } catch {
                return .success(CollectionSyncResult(id, error))
            }
        }
        return CollectionSyncResult(id, of: result)
    }

    fileprivate var isNeverAsked: Bool { session.config.isPackagedOnly || overriding != nil }

    /// The outcome of every sync in these cases: a local file replaces the collection, only packaged records are used,
    /// or the collection may not use the network. It is `nil` in all other cases.
    ///
    /// Nothing is requested or stored.
    fileprivate var outcomeWithoutNetwork: Result<SyncOutcome, RemoteSettingsError>? {
        do throws(RemoteSettingsError) { try session.checkNetwork(id) } catch { return .failure(error) }
        if session.config.isPackagedOnly, overriding == nil {
            if let timestamp = current().timestamp { return .success(.notAsked(timestamp)) }
            return .failure(
                .notFound(reason: "\(id): there is no packaged snapshot; package the collection with the app"))
        }
        guard let overriding else { return nil }
        let current = self.current()
        session.logger.warning("\(id): OVERRIDDEN by \(overriding.path); not synced")
        if let timestamp = current.timestamp { return .success(.notAsked(timestamp)) }
        let problems = current.unused.map { "\($0)" }.joined(separator: "; ")
        return .failure(
            .storage(reason: "\(id): \(problems); fix the file, or remove it from RemoteSettingsConfig.overrides"))
    }

    /// Syncs for a read that has found no records. A recent failure is returned at once instead of being repeated.
    func syncIfEmpty(owner: WorkOwner) async -> Result<SyncOutcome, RemoteSettingsError> {
        if !session.syncs.isUnderWay(id), let failure = session.failures.standing(id) {
            session.logger.debug(
                "\(id): not synced, because the last sync failed; the next read syncs after \(failure.nextTry.rfc3339)")
            return .failure(failure.error)
        }
        return await sync(trigger: .empty, owner: owner).result
    }
}

extension Session {
    /// The number of collections that are synced concurrently, which is the number of connections to a host.
    static var width: Int { 8 }

    /// Updates collections to the server's state, independently of each other, after one request for the monitor. Uses
    /// the network.
    ///
    /// Concurrent calls share one sync.
    ///
    /// - Returns: a failure only if the monitor could not be fetched.
    func sync(
        _ collections: [LocalCollection], expected: Timestamp?, trigger: UptakeEvent.Trigger,
        outlivesCaller: Bool = true
    ) async -> Result<[CollectionSyncResult], RemoteSettingsError> {
        await serviceSyncs.run(true, expected: expected, outlivesCaller: outlivesCaller) { [self] _ in
            .success(await syncTogether(collections, expected: expected, trigger: trigger))
        }.flatMap { $0.mapError { RemoteSettingsError($0) } }
    }

    private func syncTogether(
        _ collections: [LocalCollection], expected: Timestamp?, trigger: UptakeEvent.Trigger
    ) async -> Result<[CollectionSyncResult], any Error> {
        let began = now
        defer { keepNotes() }
        if !collections.isEmpty, collections.allSatisfy(\.isNeverAsked) {
            let outcomes = collections.compactMap { each in each.outcomeWithoutNetwork.map { (each.id, $0) } }
            return .success(outcomes.sorted { $0.0 < $1.0 }.map { .init($0, $1) })
        }
        do {
            let run = try await SyncRun(self, expected: expected, trigger: trigger)
            let results = await collections.concurrentMap(width: Self.width) { collection in
                let id = collection.id
                if let outcome = collection.outcomeWithoutNetwork { return CollectionSyncResult(id, outcome) }
                let result = await self.syncs.run(id, expected: expected, outlivesCaller: false) { _ in
                    .success(await run.sync(collection))
                }
                return CollectionSyncResult(id, of: result)
            }
            let hasFailures = results.contains { $0.failure != nil }
            if !hasFailures { recordSynced(collections.map(\.id), upTo: run.timestamp) }
            report("settings-sync", hasFailures ? .syncError : .success, trigger, since: began)
            return .success(results.sorted { $0.collection < $1.collection })
        } catch {
            report("settings-sync", .init(error), trigger, since: began, error: error)
            return .failure(error)
        }
    }
}

extension CollectionSyncResult {
    init(_ id: CollectionID, of shared: Result<CollectionSyncResult, RemoteSettingsError>) {
        switch shared {
        case .success(let result): self = result
        case .failure(let error): self.init(id, .failure(error))
        }
    }
}

/// The monitor's response, and the syncs of collections that are based on it.
struct SyncRun: Sendable {
    let session: Session
    let trigger: UptakeEvent.Trigger
    let client: ServerClient
    let fetcher: CollectionFetcher
    let monitor: MonitorChangeset
    /// The start time of the run.
    let began: Timestamp
    /// What is called after a successful sync of a collection.
    private let observers: [(CollectionID, @Sendable (_ began: Timestamp) async -> Void)]
    /// The monitor's own timestamp.
    var timestamp: Timestamp { monitor.timestamp }

    /// Fetches the monitor.
    ///
    /// - Parameter expected: the timestamp that a push message announced.
    init(_ session: Session, expected: Timestamp?, trigger: UptakeEvent.Trigger) async throws {
        self.session = session
        self.trigger = trigger
        client = try session.startingRun()
        fetcher = session.fetcher(client)
        began = session.now
        observers = (session.service?.liveClients ?? []).compactMap { client in
            guard let observer = client.syncObserver.withLock({ $0 }), let id = try? client.collection().id
            else { return nil }
            return (id, observer)
        }
        // Read the index and the lock files here, while libcurl is being loaded.
        _ = (session.choice, session.storage.index())
        let serverTime: Timestamp?
        do {
            guard case .changes(let document, _) = try await client.monitor(expected: expected) else {
                throw RemoteSettingsError.other(
                    reason: "\(client.server): the response with the list of collections is empty (204)")
            }
            serverTime = document.serverTime(now: began)
            monitor = try mapFailure(of: try MonitorChangeset(parsing: document.body)) {
                Failure.changeset($0, url: "\(document.url)")
            }
        } catch {
            session.keepBackoff(client)
            let status = UptakeEvent.Status(error)
            session.report("settings-changes-monitoring", status, trigger, since: began, error: error)
            if status.isFailure { session.failures.record(RemoteSettingsError(error), of: nil) }
            throw error
        }
        session.report(
            "settings-changes-monitoring", .success, trigger, timestamp: monitor.timestamp,
            age: serverTime?.elapsed(since: monitor.timestamp), since: began)
        session.recordAnswer()
        session.tidyUp()
        session.recordAnswer(serverTime: serverTime)
    }

    /// Updates one collection to the server's state.
    func sync(_ collection: LocalCollection) async -> CollectionSyncResult {
        let began = session.now
        let result: Result<SyncOutcome, any Error>
        do {
            result = .success(try await update(collection))
        } catch {
            result = .failure(error)
        }
        // An invalid delta is followed by a full fetch, so a failed sync of an existing collection was already retried.
        return await recordOutcome(
            result, of: collection.id, since: began, wasRetried: { collection.current().snapshot != nil })
    }

    /// Records the outcome of a collection's sync, reports it to telemetry and notifies listeners.
    @discardableResult
    func recordOutcome(
        _ result: Result<SyncOutcome, any Error>, of id: CollectionID, since began: Timestamp,
        wasRetried: () -> Bool = { false }
    ) async -> CollectionSyncResult {
        session.keepBackoff(client)
        switch result {
        case .success(let outcome):
            let status: UptakeEvent.Status = if case .upToDate = outcome { .upToDate } else { .success }
            session.report("\(id)", status, trigger, timestamp: outcome.timestamp, since: began)
            session.failures.recordSuccess(of: id)
            session.recordSuccess(of: id, in: self.began)
            for (observed, observer) in observers where observed == id { await observer(began) }
            return CollectionSyncResult(id, .success(outcome), SyncUptake(status, nil))
        case .failure(let error):
            let status = UptakeEvent.Status(error, wasRetried: wasRetried())
            session.report("\(id)", status, trigger, since: began, error: error)
            session.logger.warning("\(id): sync failed: \(error)")
            await recordFailure(of: id, status, error, since: began)
            return CollectionSyncResult(id, .failure(RemoteSettingsError(error)), SyncUptake(status, error))
        }
    }

    /// Records a failure, and reports the collection as broken after ten consecutive failures.
    private func recordFailure(
        of id: CollectionID, _ status: UptakeEvent.Status, _ error: any Error, since began: Timestamp
    ) async {
        guard status.isFailure else { return }
        session.failures.record(RemoteSettingsError(error), of: id)
        let attempt = SyncFailures.Attempt(at: began, trigger: trigger, status: status, error: "\(error)")
        let failures = session.record(attempt, of: id)
        guard failures.isBroken else { return }
        session.report("\(id)", .syncBrokenError, trigger, since: began, error: error)
        session.logger.error("\(id): \(failures)")
    }
}

extension Session {
    /// The journal of the configured server, with what this process has not stored yet. The journal of a different
    /// server is treated as empty.
    var journal: SyncJournal {
        var journal = journal(in: storage.index())
        notes.withLock { $0.complete(&journal) }
        return journal
    }

    private func journal(in index: StorageIndex) -> SyncJournal {
        let server = serverIdentity.description
        return index.journal.flatMap { $0.server == server ? $0 : nil } ?? SyncJournal(of: server)
    }

    /// Records the difference between the clocks when the server has sent its list of collections.
    func recordAnswer(serverTime: Timestamp?) {
        guard let serverTime else { return }
        let (mine, theirs) = (Int64(clamping: now.milliseconds), Int64(clamping: serverTime.milliseconds))
        notes.withLock { $0.clockSkew = mine - theirs }
    }

    /// Records a successful sync. ``keepNotes()`` stores its time.
    ///
    /// - Parameter began: the start time of the run that synced the collection.
    func recordSuccess(of id: CollectionID, in began: Timestamp) {
        notes.withLock { $0.successes[id] = began }
        if journal(in: storage.index()).failures[id] != nil { changeJournal { $0.failures[id] = nil } }
    }

    /// Stores the times and the clock skew of this process's syncs if ``SyncNotes/isDue(after:)`` says so, so that a
    /// run of many collections writes the index at most once, and a run that finds nothing new usually does not.
    func keepNotes() {
        let notes = notes.withLock { $0 }
        if notes.isDue(after: journal(in: storage.index())) { changeJournal { notes.complete(&$0) } }
    }

    func record(_ attempt: SyncFailures.Attempt, of id: CollectionID) -> SyncFailures {
        changeJournal { $0.record(attempt, of: id) }
    }

    @discardableResult
    private func changeJournal<Value>(_ change: (inout SyncJournal) -> Value) -> Value {
        let old = journal(in: storage.index())
        var new = old
        let value = change(&new)
        guard new != old, server.isValid else { return value }
        return remember { index in
            var journal = journal(in: index)
            defer { index.journal = journal }
            return change(&journal)
        } ?? value
    }
}

extension Result {
    fileprivate var isValid: Bool { (try? get()) != nil }
}
