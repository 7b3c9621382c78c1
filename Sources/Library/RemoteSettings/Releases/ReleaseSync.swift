import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// Brings collections to the server's present release: first the catalogue, then what it lists. Everything becomes
/// visible at once.
struct ReleaseSync: Sendable {
    /// One collection on its way to the release.
    fileprivate struct Wanted: Sendable {
        let collection: LocalCollection
        /// Whether somebody asked for it. Otherwise it is brought along, because an earlier state of it is stored.
        let isAsked: Bool
        let began: Timestamp
        /// What was held before.
        let before: HeldState
        /// What is held once the release is shown, with the snapshot if that has to be stored.
        var state: Result<(held: HeldState, fetched: Snapshot?), any Error>
    }

    let run: SyncRun
    let origin: OriginName
    private var session: Session { run.session }

    /// - Parameters:
    ///   - asked: the collections that somebody asked for.
    ///   - isLast: whether there is no further try if the server has published another release meanwhile.
    /// - Returns: the results of what was asked for; `nil` to try again.
    /// - Throws: if the catalogue could not be fetched, or is not one that may follow what is held.
    func results(of asked: [LocalCollection], isLast: Bool) async throws -> [CollectionSyncResult]? {
        let known = session.currentRelease()
        let began = session.now
        let view: ReleaseView
        do {
            view = try await presentRelease(after: known)
        } catch {
            await run.note(.failure(error), of: Catalogue.collection, since: began)
            throw error
        }
        let others = companions(of: Set(asked.map(\.id)), in: view)
        var wanted = await (asked.map { ($0, true) } + others.map { ($0, false) })
            .concurrentMap(width: Session.width) { collection, isAsked in
                await self.prepared(collection, isAsked: isAsked, for: view)
            }
        if !isLast, wanted.contains(where: \.isOvertaken) { return nil }
        let missing = wanted.filter(\.holdsBack).map(\.collection.id)
        var shown = known
        if !missing.isEmpty, view !== known {
            let error = ReleaseSyncError.incomplete(release: view.catalogue.number, missing: missing)
            for index in wanted.indices { wanted[index].fail(error) }
        } else if view !== known || wanted.contains(where: \.isFetched) {
            do {
                shown = try await store(view, wanted)
            } catch {
                for index in wanted.indices { wanted[index].fail(error) }
            }
        } else {
            await settleLeftovers()
        }
        if shown === view {
            let timestamp = view.snapshot.timestamp
            await run.note(
                .success(view === known ? .upToDate(timestamp) : .updated(timestamp)), of: Catalogue.collection,
                since: began)
        }
        if let shown { reportFreshness(of: shown) }
        var results: [CollectionSyncResult] = []
        for wanted in wanted {
            let result = await run.note(wanted.outcome, of: wanted.collection.id, since: wanted.began)
            if wanted.isAsked {
                results.append(CollectionSyncResult(collection: "\(wanted.collection.id)", result: result))
            }
        }
        return results
    }

    /// Collections that nobody asked for now, but that would be left behind: those of this process, and those that are
    /// stored, even if an earlier sync has already left them behind.
    private func companions(of asked: Set<CollectionID>, in view: ReleaseView) -> [LocalCollection] {
        guard let service = session.service else { return [] }
        let stored = (try? session.storage.collections()) ?? []
        return Set(stored + service.clientCollections.map(\.id)).subtracting(asked)
            .filter {
                $0 != Catalogue.collection && (view.catalogue.entries[$0] != nil || view.catalogue.removed[$0] != nil)
            }.sorted()
            .map { service.collection(id: $0) }
            .filter { $0.overriding == nil && $0.held().snapshot != nil }
    }

    /// The server's present release, verified; `known` if that is still the present one.
    private func presentRelease(after known: ReleaseView?) async throws -> ReleaseView {
        let id = Catalogue.collection
        guard let expected = run.monitor.collections[id] else {
            throw ReleaseSyncError.noCatalogue(server: "\(run.client.server)", origin: origin)
        }
        if let known, known.snapshot.timestamp == expected { return known }
        var wanted = CollectionFetcher.Wanted(
            id: id, expected: expected,
            base: known.flatMap { $0.snapshot.timestamp < expected ? $0.snapshot.payload : nil }, floor: nil,
            wasSigned: known?.snapshot.provenance.isSigned ?? false)
        // Succession decides here, not the timestamp: whoever had the key before it was replaced could have used any
        // timestamp.
        wanted.refusesEquivocation = false
        guard let fetched = try await run.fetcher.fetch(wanted) else {
            guard let known else { throw FetchError.noAnswer(url: "\(run.client.server)") }
            return known
        }
        let view = try ReleaseView(
            fetched.snapshot, from: .cached, of: origin, roots: session.trust.roots, limits: session.limits)
        if let known, view.snapshot.payload == known.snapshot.payload { return known }
        do throws(CatalogueError) {
            let held = try known.map { (known) throws(CatalogueError) in try known.verified() }
            try view.verified().checkAcceptance(after: held, at: session.now, limits: session.limits)
        } catch {
            // A list of collections that is older than what is held may come from a cache. Nothing is new then.
            if let known, expected < known.snapshot.timestamp, error.isOlder { return known }
            throw error
        }
        return view
    }

    /// Finds the state of one collection that the release lists, here or on the server.
    private func prepared(_ collection: LocalCollection, isAsked: Bool, for view: ReleaseView) async -> Wanted {
        let (began, held) = (session.now, collection.held())
        run.reportDamage(held, of: collection.id)
        let state: Result<(held: HeldState, fetched: Snapshot?), any Error>
        do {
            state = .success(try await self.state(of: collection.id, after: held, in: view))
        } catch {
            state = .failure(error)
        }
        return Wanted(collection: collection, isAsked: isAsked, began: began, before: held, state: state)
    }

    private func state(
        of id: CollectionID, after held: HeldState, in view: ReleaseView
    ) async throws -> (held: HeldState, fetched: Snapshot?) {
        guard let entry = view.catalogue.entries[id] else {
            guard view.catalogue.removed[id] != nil else {
                throw ReleaseSyncError.notListed(id, release: view.catalogue.number)
            }
            var kept = held
            (kept.view, kept.isOfRelease) = (view, false)
            return (kept, nil)
        }
        if held.isOfRelease, held.view?.catalogue.entries[id] == entry {
            var same = held
            same.view = view
            return (same, nil)
        }
        let local = session.loader.load(id, of: view)
        if local.isOfRelease { return (local, nil) }
        let snapshot = try await fetched(id, onto: held, entry, in: view)
        var stored = held
        stored.unused.removeAll { $0.source == .cached }
        stored.serve(snapshot, from: .cached, isVerifiedHere: true)
        (stored.view, stored.isOfRelease, stored.isCached) = (view, true, true)
        if snapshot.chain != nil { stored.noteSigned(asOf: snapshot.timestamp) }
        return (stored, snapshot)
    }

    /// Fetches a state and checks that it is the one that the catalogue lists.
    private func fetched(
        _ id: CollectionID, onto held: HeldState, _ entry: Catalogue.Entry, in view: ReleaseView
    ) async throws -> Snapshot {
        // The catalogue vouches for the state that it lists, so what is held sets no lower limit.
        var wanted = CollectionFetcher.Wanted(
            id: id, expected: entry.timestamp,
            base: held.snapshot.flatMap { $0.timestamp < entry.timestamp ? $0.payload : nil }, floor: nil,
            wasSigned: held.snapshot?.provenance.isSigned ?? held.isKnownSigned)
        wanted.refusesEquivocation = false
        wanted.needsState = true
        var found = try await run.fetcher.fetch(wanted)
        if let retried = found?.retried {
            session.logger.notice("\(id): a delta could not be used, everything was fetched: \(retried)")
            session.report("\(id)", .init(retried), run.trigger, since: session.now, error: retried)
        }
        if let snapshot = found?.snapshot, !view.catalogue.lists(snapshot.payload, of: id), wanted.base != nil,
            found?.retried == nil
        {
            wanted.base = nil
            found = try await run.fetcher.fetch(wanted)
        }
        guard let snapshot = found?.snapshot else { throw FetchError.noAnswer(url: "\(run.client.server)") }
        guard view.catalogue.lists(snapshot.payload, of: id) else {
            throw ReleaseSyncError.otherState(
                id, release: view.catalogue.number, expected: entry.timestamp, found: snapshot.timestamp)
        }
        return snapshot
    }

    /// Stores a release and shows it.
    ///
    /// - Returns: what is shown afterwards: the release, or a later one that another process has stored meanwhile.
    private func store(_ view: ReleaseView, _ wanted: [Wanted]) async throws -> ReleaseView {
        var prepared: [(collection: LocalCollection, state: ReleaseStore.ListedState)] = []
        for wanted in wanted {
            guard case .success((let held, let snapshot)) = wanted.state else { continue }
            let id = wanted.collection.id
            prepared.append(
                (wanted.collection, .init(id: id, held: held, fetched: snapshot, before: wanted.before)))
        }
        session.release.withLock { $0.isStoring = true }
        defer { session.release.withLock { $0.isStoring = false } }
        let shown = try await session.withStorageLock { () throws -> ReleaseView in
            // This is checked under the lock, so that a closed session cannot write after the session that follows it.
            guard !session.isClosed else { throw RemoteSettingsError.closed }
            let store = ReleaseStore(session: session, origin: origin, trigger: run.trigger)
            return try store.commit(view, prepared.map(\.state)) { shown, identity, stored in
                if shown === view {
                    for (collection, state) in prepared {
                        var held = state.held
                        held.storedIdentity = stored[state.id]
                        collection.prepare(held)
                    }
                }
                session.show(shown, identity: identity)
            }
        }
        // Listeners hear of the release once all of it is visible.
        for (collection, _) in prepared { _ = collection.held() }
        return shown
    }

    /// Renames files that a killed process has left waiting. It does so once in a session, because it has to look at
    /// all folders.
    private func settleLeftovers() async {
        let isFirst = session.release.withLock { state in
            defer { state.hasSettled = true }
            return !state.hasSettled
        }
        guard isFirst, (try? session.storage.stagedCollections())?.isEmpty == false else { return }
        // Readers find the states under either name. If this fails, the next writer tries again.
        try? await session.withStorageLock {
            ReleaseStore(session: session, origin: origin, trigger: run.trigger).settleLeftovers()
        }
    }

    /// Tells telemetry if nothing has confirmed the release for longer than its origin allows.
    private func reportFreshness(of view: ReleaseView) {
        guard !view.isConfirmed(at: session.now) else { return }
        session.logger.warning(
            "release \(view.catalogue.number) of \(origin): unconfirmed since \(view.confirmedUntil.rfc3339); the "
                + "server answers, and nothing that it says is newer")
        session.report(
            "\(Catalogue.collection)", .unconfirmed, run.trigger, timestamp: view.snapshot.timestamp,
            since: session.now)
    }
}

extension ReleaseSync.Wanted {
    /// Whether the release cannot be shown without it: somebody asked for it, or it belongs to the release in use, so
    /// that it would be left behind. A collection that the catalogue does not list holds nothing back.
    fileprivate var holdsBack: Bool {
        guard case .failure(let error) = state, isAsked || before.isOfRelease else { return false }
        if case ReleaseSyncError.notListed = error { return false }
        return true
    }

    /// Whether the server has a later state than the catalogue lists, as if it had published meanwhile.
    fileprivate var isOvertaken: Bool {
        guard case .failure(ReleaseSyncError.otherState(_, _, let expected, let found)) = state else { return false }
        return found > expected
    }

    fileprivate var isFetched: Bool { if case .success((_, .some)) = state { true } else { false } }

    /// Discards what was found, so that it is not stored.
    fileprivate mutating func fail(_ error: any Error) {
        if case .success = state { state = .failure(error) }
    }

    /// The result for the collection.
    fileprivate var outcome: Result<SyncOutcome, any Error> {
        state.map { _ in
            let after = collection.held()
            let timestamp = after.timestamp ?? Timestamp(milliseconds: 0)
            return after.snapshot?.payload == before.snapshot?.payload ? .upToDate(timestamp) : .updated(timestamp)
        }
    }
}

extension CatalogueError {
    /// Whether the error only says that what was found is older than what is held.
    fileprivate var isOlder: Bool {
        switch self {
        case .olderRelease, .olderConfirmation, .earlierCertificate: true
        default: false
        }
    }
}
