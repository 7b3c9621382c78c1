import ContentSignature
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotFetch

/// Why a run did not come about, for the caller and for telemetry, which tells more kinds apart.
struct SyncRunFailure: Error {
    let error: RemoteSettingsError
    let status: UptakeEvent.Status
}

/// One look at the monitor, and the syncs of collections that follow from it.
struct SyncRun: Sendable {
    let session: Session
    let trigger: UptakeEvent.Trigger
    private let client: ServerClient
    private let chains: ChainStore
    private let monitor: MonitorChangeset

    /// Polls the monitor.
    ///
    /// - Parameters:
    ///   - expected: what a push message promised.
    init(
        _ session: Session, expected: Timestamp?, trigger: UptakeEvent.Trigger
    ) async throws(SyncRunFailure) {
        self.session = session
        self.trigger = trigger
        do throws(RemoteSettingsError) {
            client = try session.client()
        } catch {
            throw SyncRunFailure(error: error, status: .init(error))
        }
        chains = ChainStore(
            client: client, policy: session.policy, time: session.now,
            keeper: ChainDirectory(storage: session.storage, limits: session.limits))
        let began = session.now
        do {
            guard case .changes(let document, _) = try await client.monitor(expected: expected) else {
                throw RemoteSettingsError.Network(reason: "\(client.server): expected the monitor's list, found none")
            }
            do throws(ChangesetError) {
                monitor = try MonitorChangeset(parsing: document.body, limits: session.limits)
            } catch {
                throw FetchError.changeset(error, url: "\(document.url)")
            }
        } catch {
            session.keepBackoff(client)
            let status = UptakeEvent.Status(error)
            session.report("settings-changes-monitoring", status, trigger, nil, began, error)
            throw SyncRunFailure(error: RemoteSettingsError(error), status: status)
        }
        session.report("settings-changes-monitoring", .success, trigger, monitor.timestamp, began, nil)
    }

    /// Brings one collection to the server's state.
    func sync(_ collection: CollectionState) async -> Result<SyncOutcome, RemoteSettingsError> {
        let began = session.now
        do {
            let outcome = try await outcome(of: collection)
            let status: UptakeEvent.Status =
                if case .upToDate = outcome { .upToDate } else { .success }
            session.report("\(collection.id)", status, trigger, outcome.timestamp, began, nil)
            return .success(outcome)
        } catch {
            session.keepBackoff(client)
            // A signature that does not hold over what is held is tried again over everything before it fails.
            let wasRetried = collection.current(session).held != nil
            session.report("\(collection.id)", .init(error, wasRetried: wasRetried), trigger, nil, began, error)
            session.logger.warning("\(collection.id): sync failed: \(error)")
            return .failure(RemoteSettingsError(error))
        }
    }

    private func outcome(of collection: CollectionState) async throws -> SyncOutcome {
        let id = collection.id
        let loaded = collection.current(session)
        let held = loaded.held
        let floor = Self.floor(loaded, now: session.now)
        let expected = monitor.collections[id]
        // A monitor that is older than what is held is no rollback: a cache may have kept it, the server's export may have
        // overlapped with a publication, or another sync has stored something since. There is nothing new.
        if let held, let expected, held.timestamp >= expected { return .upToDate(held.timestamp) }
        let fetcher = CollectionFetcher(client: client, chains: chains, policy: session.policy)
        let fetched = try await fetcher.fetch(
            .init(
                id: id, expected: expected, base: held?.snapshot.payload, floor: floor,
                wasSigned: held?.isSigned ?? loaded.isKnownSigned))
        guard let fetched else { return .upToDate(held?.timestamp ?? Timestamp(milliseconds: 0)) }
        if let retried = fetched.retried {
            session.logger.notice("\(id): a delta could not be used, everything was fetched: \(retried)")
            session.report("\(id)", .init(retried), trigger, nil, session.now, retried)
        }
        if let held, held.snapshot.payload == fetched.snapshot.payload,
            held.source != .cached || held.snapshot.metadata.json == fetched.snapshot.metadata.json
        {
            return .upToDate(held.timestamp)
        }
        guard !session.isClosed else { throw RemoteSettingsError.closed }
        let stored = try await collection.storing {
            try await CacheStore(session: session, id: id).store(fetched, over: loaded)
        }
        session.tell(id, from: held, to: stored.held)
        return .updated(stored.held?.timestamp ?? fetched.snapshot.timestamp)
    }

    /// A verified state that is older than this one is refused.
    private static func floor(_ loaded: LoadedCollection, now: Timestamp) -> Timestamp? {
        // Nothing vouches for the mark. One that lies in the future comes from damage, and would refuse everything.
        let mark = loaded.highWaterMark.flatMap { $0 > now.advanced(by: .seconds(86_400)) ? nil : $0 }
        return [loaded.held?.timestamp, mark].compactMap { $0 }.max()
    }
}
