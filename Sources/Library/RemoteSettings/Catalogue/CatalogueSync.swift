import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// A sync of a catalogue: it fetches and verifies the catalogue and the states listed in it, stores all of them, and
/// commits the catalogue, so that reads use it.
///
/// | Event | State used afterwards |
/// |---|---|
/// | the server's catalogue is the current one, and all its states are local | the same as before |
/// | a newer catalogue, and all its states are local or were fetched | all of the newer states, from one moment on |
/// | fetching failed for a requested state, or one of the current catalogue | the whole earlier catalogue |
/// | fetching failed for a state that is neither | the newer catalogue without that state; its sync fails |
/// | the server publishes again during the sync | everything is requested once more; then as above |
/// | the catalogue is older, or may not replace the current one | the earlier catalogue; the sync fails |
/// | the catalogue no longer lists a local state | the local state, outside of any catalogue |
/// | another process stores a later catalogue during the sync | that catalogue |
/// | the process is killed before the index is replaced | the earlier catalogue |
/// | the process is killed after that | the newer catalogue |
struct CatalogueSync: Sendable {
    /// One collection during the sync of its catalogue.
    fileprivate struct Wanted: Sendable {
        let collection: LocalCollection
        /// Whether a caller requested the collection. If not, it is synced because it has a local state, which would
        /// otherwise fall behind the catalogue.
        let isAsked: Bool
        let began: Timestamp
        /// The local state before the sync.
        let before: CurrentState
        /// The state in use after the commit, and the snapshot if it still has to be stored; or the error.
        var state: Result<(current: CurrentState, fetched: Snapshot?), any Error>
    }

    let run: SyncRun
    let publisher: PublisherName
    private var session: Session { run.session }

    /// Runs the sync once.
    ///
    /// - Parameters:
    ///   - asked: the collections that a caller requested.
    ///   - isLast: whether this is the last attempt. If not, `nil` is returned when the server has published another
    ///     catalogue during the sync.
    /// - Returns: the results of the requested collections; `nil` to try again.
    /// - Throws: an error if the catalogue could not be fetched, or may not replace the current one.
    func results(of asked: [LocalCollection], isLast: Bool) async throws -> [CollectionSyncResult]? {
        let known = session.currentCatalogue()
        let began = session.now
        let catalogue = try await fetchCatalogue(after: known)
        var wanted = await prepare(asked, for: catalogue)
        if !isLast, wanted.contains(where: \.isOvertaken) { return nil }
        let shown = await show(catalogue, &wanted, after: known)
        if shown === catalogue {
            let timestamp = catalogue.snapshot.timestamp
            await run.recordOutcome(
                .success(catalogue === known ? .upToDate(timestamp) : .updated(timestamp)), of: Catalogue.collection,
                since: began)
        }
        if let shown { reportFreshness(of: shown) }
        var results: [CollectionSyncResult] = []
        for wanted in wanted {
            let result = await run.recordOutcome(wanted.outcome, of: wanted.collection.id, since: wanted.began)
            if wanted.isAsked { results.append(result) }
        }
        return results
    }

    private func fetchCatalogue(after known: CatalogueView?) async throws -> CatalogueView {
        let began = session.now
        do {
            return try await serversCatalogue(after: known)
        } catch {
            await run.recordOutcome(.failure(error), of: Catalogue.collection, since: began)
            throw error
        }
    }

    /// Finds, for each collection, the state that the catalogue lists, locally or on the server.
    private func prepare(_ asked: [LocalCollection], for catalogue: CatalogueView) async -> [Wanted] {
        let others = companions(of: Set(asked.map(\.id)), in: catalogue)
        let refused = (asked + others).filter { self.holdsBack($0, catalogue) }.map(\.id)
        return await (asked.map { ($0, true) } + others.map { ($0, false) })
            .concurrentMap(width: Session.width) { collection, isAsked in
                await self.prepared(collection, isAsked: isAsked, for: catalogue, refused: refused)
            }
    }

    /// Returns whether the collection's state in the catalogue was rejected and is not in use. In that case, no other
    /// state of the catalogue is fetched, because the catalogue could not be committed.
    private func holdsBack(_ collection: LocalCollection, _ catalogue: CatalogueView) -> Bool {
        guard let entry = catalogue.catalogue.entries[collection.id] else { return false }
        do {
            try sync(of: collection).checkWanted(entry.timestamp, payload: entry.payload)
            return false
        } catch {
            return collection.current().snapshot?.timestamp != entry.timestamp
        }
    }

    /// Stores and commits the catalogue if all required states were found.
    ///
    /// - Returns: the catalogue in use from now on.
    private func show(
        _ catalogue: CatalogueView, _ wanted: inout [Wanted], after known: CatalogueView?
    ) async -> CatalogueView? {
        do {
            let isPurged = wanted.contains { wanted in
                (try? wanted.state.get().current).map { $0.source == .cached && !$0.isStored(session) } ?? false
            }
            guard catalogue !== known || isPurged || wanted.contains(where: \.isFetched) || isCataloguePurged
            else { return known }
            let missing = wanted.filter(\.holdsBack).map(\.collection.id)
            guard missing.isEmpty || catalogue === known else {
                throw HTTPError.incomplete(catalogue: catalogue.catalogue.number, missing: missing)
            }
            return try await store(catalogue, wanted)
        } catch {
            for index in wanted.indices { wanted[index].fail(error) }
            return known
        }
    }

    /// Returns the collections that were not requested but must be synced too, so that they do not fall behind the
    /// catalogue: those with a client in this process, and those with stored data.
    private func companions(of asked: Set<CollectionID>, in view: CatalogueView) -> [LocalCollection] {
        guard let service = session.service else { return [] }
        return Set(session.storage.index().ids + service.clientCollections.map(\.id)).subtracting(asked)
            .filter {
                $0 != Catalogue.collection && (view.catalogue.entries[$0] != nil || view.catalogue.removed[$0] != nil)
            }.sorted()
            .map { service.collection(id: $0) }
            .filter { $0.overriding == nil && $0.current().snapshot != nil }
    }

    /// Returns the server's current catalogue, verified, or `known` if the server has no newer one.
    private func serversCatalogue(after known: CatalogueView?) async throws -> CatalogueView {
        let id = Catalogue.collection
        guard let expected = run.monitor.collections[id] else {
            throw HTTPError.noCatalogue(server: "\(run.client.server)", publisher: publisher)
        }
        if let known, known.snapshot.timestamp == expected { return known }
        if let refusal = session.trials.trial(of: session.subject(of: id)).refusal(at: expected) {
            throw RemoteSettingsError.rejected(id, expected, refusal.reason)
        }
        var wanted = CollectionFetcher.Wanted(
            id: id, expected: expected,
            base: known.flatMap { $0.snapshot.timestamp < expected ? $0.snapshot.payload : nil }, floor: nil,
            wasSigned: known?.snapshot.provenance.isSigned ?? false)
        // Do not compare timestamps: an attacker with an earlier, replaced key could have signed any timestamp. The
        // rules for successive catalogues decide instead.
        wanted.refusesEquivocation = false
        guard let fetched = try await run.fetcher.fetch(wanted) else {
            guard let known else { throw HTTPError.noAnswer(url: "\(run.client.server)") }
            return known
        }
        let view = try CatalogueView(
            fetched.snapshot, from: .cached, roots: session.trust.roots, limits: session.limits)
        guard view.catalogue.publisher == publisher else {
            throw BundleError.otherPublisher(found: view.catalogue.publisher, expected: publisher)
        }
        if let known, view.snapshot.payload == known.snapshot.payload { return known }
        do throws(BundleError) {
            let current = try known.map { (known) throws(BundleError) in try known.verified() }
            let new = try view.verified()
            try new.checkAcceptance(after: current, at: session.now, limits: session.limits)
            if current == nil { try checkNumber(of: new) }
        } catch {
            // If the monitor's timestamp is older than the local catalogue, the monitor probably came from a stale
            // cache. Treat this as "no newer catalogue" and not as a rollback.
            if let known, expected < known.snapshot.timestamp, error.code == .rollback { return known }
            throw error
        }
        return view
    }

    /// Checks a catalogue's number against the newest numbers that were ever stored under a pinned root.
    ///
    /// This prevents a rollback if there is no current catalogue, for example because its file was lost.
    private func checkNumber(of new: VerifiedCatalogue) throws(BundleError) {
        for stored in session.storage.index()[session.key(of: Catalogue.collection)].newest {
            guard session.trust.roots.roots.contains(stored.root), let number = stored.number,
                new.catalogue.number < number, new.certificateBegins.map({ $0 <= stored.certificate ?? $0 }) ?? true
            else { continue }
            throw .olderCatalogue(found: new.catalogue.number, held: number)
        }
    }

    /// Finds the state that the catalogue lists for a collection, locally or on the server.
    private func prepared(
        _ collection: LocalCollection, isAsked: Bool, for view: CatalogueView, refused: [CollectionID]
    ) async -> Wanted {
        let (began, current) = (session.now, collection.current())
        sync(of: collection).reportDamage(of: current)
        let state: Result<(current: CurrentState, fetched: Snapshot?), any Error>
        do {
            guard refused.isEmpty || refused.contains(collection.id) else {
                throw HTTPError.incomplete(catalogue: view.catalogue.number, missing: refused)
            }
            state = .success(try await self.state(of: collection, after: current, in: view))
        } catch {
            state = .failure(error)
        }
        return Wanted(collection: collection, isAsked: isAsked, began: began, before: current, state: state)
    }

    private func state(
        of collection: LocalCollection, after current: CurrentState, in view: CatalogueView
    ) async throws -> (current: CurrentState, fetched: Snapshot?) {
        let id = collection.id
        guard let entry = view.catalogue.entries[id] else {
            guard view.catalogue.removed[id] != nil else {
                throw HTTPError.notListed(id, catalogue: view.catalogue.number)
            }
            var kept = current
            (kept.view, kept.isOfCatalogue) = (view, false)
            return (kept, nil)
        }
        if current.isOfCatalogue, current.view?.catalogue.entries[id] == entry {
            var same = current
            same.view = view
            return (same, nil)
        }
        let local = session.choice.choose(
            id, from: session.storage.index()[collection.key].synced, of: view,
            asking: collection.trial)
        if local.isOfCatalogue { return (local, nil) }
        try sync(of: collection).checkWanted(entry.timestamp, payload: entry.payload)
        let snapshot = try await fetched(collection, onto: current, entry, in: view)
        try await sync(of: collection).validate(snapshot, over: current)
        var stored = current.replaced(by: snapshot)
        (stored.view, stored.isOfCatalogue) = (view, true)
        return (stored, snapshot)
    }

    private func sync(of collection: LocalCollection) -> CollectionSync {
        CollectionSync(session: session, collection: collection, trigger: run.trigger)
    }

    /// Fetches a state and checks that it is the one listed in the catalogue.
    private func fetched(
        _ collection: LocalCollection, onto current: CurrentState, _ entry: Catalogue.Entry, in view: CatalogueView
    ) async throws -> Snapshot {
        let id = collection.id
        // The catalogue's signature covers the listed state, so the local state sets no lower limit for the timestamp.
        var wanted = CollectionFetcher.Wanted(
            id: id, expected: entry.timestamp,
            base: current.snapshot.flatMap { $0.timestamp < entry.timestamp ? $0.payload : nil }, floor: nil,
            wasSigned: current.wasSigned)
        wanted.refusesEquivocation = false
        wanted.needsState = true
        var found = try await run.fetcher.fetch(wanted)
        sync(of: collection).reportRetry(found?.retried)
        if let snapshot = found?.snapshot, !view.catalogue.lists(snapshot.payload, of: id), wanted.base != nil,
            found?.retried == nil
        {
            wanted.base = nil
            found = try await run.fetcher.fetch(wanted)
        }
        guard let snapshot = found?.snapshot else { throw HTTPError.noAnswer(url: "\(run.client.server)") }
        guard view.catalogue.lists(snapshot.payload, of: id) else {
            throw HTTPError.otherState(
                id, catalogue: view.catalogue.number, expected: entry.timestamp, found: snapshot.timestamp)
        }
        return snapshot
    }

    /// Whether the catalogue in use was stored, but its file has been deleted.
    private var isCataloguePurged: Bool {
        let index = session.storage.index()
        guard session.currentCatalogue()?.source == .cached else { return false }
        return index[session.key(of: Catalogue.collection)].synced.current.map { !session.storage.has($0) } ?? true
    }

    /// Stores a catalogue with its states in a single change of the index, and commits it.
    ///
    /// Every reader, in this process and others, sees either the whole previous catalogue or the whole new one, even if
    /// the process is killed at any moment. `Tests/Models/catalogue.pml` models this.
    ///
    /// - Returns: the catalogue in use afterwards: this one, or a later one stored by another process in the meantime.
    private func store(_ view: CatalogueView, _ wanted: [Wanted]) async throws -> CatalogueView {
        let (storage, key) = (session.storage, session.key(of: Catalogue.collection))
        let server = "\(try session.server.get())"
        let new = KnownCatalogue.Found(view: view, slot: .init())
        var (shown, stale) = (new, [CollectionID: Set<SHA256Digest>]())
        let (_, problem) = try await storage.update { index in
            (shown, stale) = (new, [:])
            // This check must be under the lock, so that a closed session cannot write after the session that replaced
            // it.
            guard !session.isClosed else { throw RemoteSettingsError.closed }
            let present = session.findCatalogue(of: publisher, in: index[key].synced)
            if let stored = present.view, stored.snapshot.payload != view.snapshot.payload {
                do throws(BundleError) {
                    try view.checkSuccession(of: stored)
                } catch {
                    session.logger.info("another process already stored a newer catalogue: \(error)")
                    shown = present
                    return
                }
            }
            if present.view?.source != .cached || present.view?.snapshot.payload != view.snapshot.payload
                || index[key].synced.current.map(storage.has) != true
            {
                var entry = index[key]
                let file = CacheFile(view.snapshot, server: server, publisher: "\(publisher)")
                let stored = storage.add(file, to: &index)
                session.replace(&entry.synced, by: stored, session.subject(of: Catalogue.collection))
                entry.record(view.snapshot, session)
                let verified = try view.verified()
                if let last = entry.newest.indices.last {
                    entry.newest[last].number = verified.catalogue.number
                    entry.newest[last].certificate = verified.certificateBegins
                }
                index[key] = entry
            }
            let earlier = index[key].synced.previous
                .flatMap { try? session.choice.snapshot(of: $0, Catalogue.collection, isKnownSigned: true) }
                .flatMap { try? Catalogue($0.records) }
            let listed = index.states
            for wanted in wanted {
                guard case .success((var current, let fetched)) = wanted.state else { continue }
                let (id, collection) = (wanted.collection.id, wanted.collection)
                var entry = index[collection.key]
                if current.isOfCatalogue, current.source == .cached, let snapshot = fetched ?? current.snapshot {
                    // If the index does not list the state any more, another thread may be removing its file.
                    let known = current.stored.flatMap {
                        fetched == nil && listed.contains($0.file) && storage.has($0) ? $0 : nil
                    }
                    if fetched != nil, let before = wanted.before.snapshot, wanted.before.source == .cached {
                        stale[id] = try? storage.staleAttachments(id, from: before.records, to: snapshot.records)
                    }
                    let stored = known ?? storage.add(CacheFile(snapshot, server: server), to: &index)
                    session.replace(
                        &entry.synced, by: stored, collection.subject, keepsOld: stale[id]?.isEmpty == false,
                        earlier?.entries[id])
                    entry.record(snapshot, session)
                    index[collection.key] = entry
                    index.forgetOldEnvironments(of: id, besides: collection.key)
                }
                current.slot = entry.synced
                shown.states[id] = current
            }
            shown.slot = index[key].synced
        } then: { index in
            guard shown.view === view else { return }
            for wanted in wanted where shown.states[wanted.collection.id]?.source == .cached {
                guard let records = shown.states[wanted.collection.id]?.snapshot?.records, wanted.isFetched else {
                    continue
                }
                do throws(BundleError) {
                    try storage.removeOrphanedAttachments(
                        of: wanted.collection, keeping: records, stale[wanted.collection.id] ?? [], in: index)
                } catch {
                    session.logger.warning("\(wanted.collection.id): unused attachments could not be removed: \(error)")
                    session.report(
                        "\(wanted.collection.id)", .cleanupError, run.trigger, since: session.now, error: error)
                }
            }
        }
        session.show(shown)
        // Loading a state notifies its listeners. Do it now, when the whole catalogue is already visible.
        for wanted in wanted { _ = wanted.collection.current() }
        if let problem { throw problem }
        return shown.view ?? view
    }

    /// Logs and reports to telemetry if the catalogue is stale although the server has just answered.
    private func reportFreshness(of view: CatalogueView) {
        guard !view.isFresh(at: session.now) else { return }
        session.logger.warning(
            "catalogue \(view.catalogue.number) of \(publisher) has been stale since \(view.freshUntil.rfc3339), "
                + "and the server has no newer one")
        session.report(
            "\(Catalogue.collection)", .staleCatalogue, run.trigger, timestamp: view.snapshot.timestamp,
            since: session.now)
    }
}

extension CatalogueSync.Wanted {
    /// Whether the catalogue cannot be committed without this collection: a caller requested it, or it belongs to the
    /// catalogue in use and would be left behind. A collection that the catalogue does not list never prevents a
    /// commit.
    fileprivate var holdsBack: Bool {
        guard case .failure(let error) = state, isAsked || before.isOfCatalogue else { return false }
        return (error as? HTTPError)?.fault != .notListed
    }

    /// Whether the server has a later state than the one in the catalogue, which means that it has published in the
    /// meantime.
    fileprivate var isOvertaken: Bool {
        guard case .failure(let error) = state else { return false }
        return (error as? HTTPError)?.fault == .overtaken
    }

    fileprivate var isFetched: Bool { if case .success((_, .some)) = state { true } else { false } }

    /// Discards the state that was found, so that it is not stored.
    fileprivate mutating func fail(_ error: any Error) {
        if case .success = state { state = .failure(error) }
    }

    /// The outcome of the sync for this collection.
    fileprivate var outcome: Result<SyncOutcome, any Error> {
        state.map { _ in
            let after = collection.current()
            let timestamp = after.timestamp ?? Timestamp(milliseconds: 0)
            return after.snapshot?.payload == before.snapshot?.payload ? .upToDate(timestamp) : .updated(timestamp)
        }
    }
}

extension CurrentState {
    /// Returns whether the file of a cached state exists.
    fileprivate func isStored(_ session: Session) -> Bool { stored.map(session.storage.has) ?? false }
}
