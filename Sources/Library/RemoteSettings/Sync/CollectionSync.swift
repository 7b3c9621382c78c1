import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// A sync of one collection: compare, fetch and verify, store, serve.
///
/// | Here | The server's timestamp | What the sync does |
/// |---|---|---|
/// | nothing was read yet | the stored state's | nothing: its file is there, and was hashed within a day |
/// | a state | the same, or an older one | nothing: an older list of collections is stale, and no rollback |
/// | a state whose file is lost or damaged | the same | writes the file again |
/// | a state | a newer one | fetches the changes; if they do not verify, fetches everything once |
/// | nothing, or only what was refused | any | fetches everything |
/// | an imported state | any | fetches, because the server's state is signed |
/// | a state of another server | another one, older or newer | fetches, and uses the server's own |
/// | a state | a newer one, and it answers with the same records | nothing: up to date |
/// | a state | a newer one, and it answers with an older state | fails with a rollback |
/// | a state | a newer one, and nothing that it sends verifies | fails |
/// | any | one whose state is set aside | fails without a request |
/// | a state | a newer one, and the app's check refuses it | fails, and sets that state aside |
/// | a newer state, which another process stored meanwhile | any | uses that one |
///
/// A sync that fails or is killed leaves what was there, unless it is killed after it has written the index. A state
/// that is verified and cannot be stored is used as long as the process runs, and the sync fails with the reason.
extension SyncRun {
    func update(_ collection: LocalCollection) async throws -> SyncOutcome {
        let expected = monitor.collections[collection.id]
        // A read verifies what it serves. Only to learn that nothing is new, nothing has to be verified.
        if let expected, collection.isStored(expected) { return .upToDate(expected) }
        return try await CollectionSync(session: session, collection: collection, trigger: trigger)
            .update(to: expected) { wanted in try await fetcher.fetch(wanted) }
    }
}

/// How one collection gets from its current state to the server's.
struct CollectionSync {
    let session: Session
    let collection: LocalCollection
    /// The reason that telemetry reports.
    let trigger: UptakeEvent.Trigger
    var id: CollectionID { collection.id }

    /// - Parameters:
    ///   - expected: the server's timestamp; `nil` if its list does not have the collection.
    ///   - fetch: fetches and verifies the server's state; `nil` if nothing is newer.
    func update(
        to expected: Timestamp?, fetch: (CollectionFetcher.Wanted) async throws -> CollectionFetcher.Fetched?
    ) async throws -> SyncOutcome {
        let current = collection.current()
        reportDamage(of: current)
        if let expected, let timestamp = current.timestamp,
            !current.isReplaced(by: expected, acceptsUnsigned: session.trust.acceptsUnsigned)
        {
            try await restore(current)
            return .upToDate(timestamp)
        }
        if let expected { try checkWanted(expected) }
        let floor = current.floor(of: collection)
        // The server knows no changes since a time that lies ahead of it.
        let isAhead = current.isStandIn && expected.map { $0 < current.timestamp ?? $0 } ?? false
        var wanted = CollectionFetcher.Wanted(
            id: id, expected: expected, base: isAhead ? nil : current.snapshot?.payload, floor: floor,
            wasSigned: current.wasSigned)
        (wanted.refusesEquivocation, wanted.needsState) = (!current.isStandIn, current.isStandIn)
        guard let fetched = try await fetch(wanted) else {
            return .upToDate(current.timestamp ?? Timestamp(milliseconds: 0))
        }
        reportRetry(fetched.retried)
        if current.isSame(as: fetched.snapshot) { return .upToDate(fetched.snapshot.timestamp) }
        try await validate(fetched.snapshot, over: current)
        let stored = try await store(fetched.snapshot, over: current)
        return .updated(stored.timestamp ?? fetched.snapshot.timestamp)
    }

    /// Writes the file of the state in use again if it was lost or damaged, and what could not be written before.
    func restore(_ current: CurrentState) async throws {
        if session.storage.hasUnsaved { session.remember { _ in } }
        guard current.source == .cached, let snapshot = current.snapshot,
            current.stored.map({ !collection.isThere($0) }) ?? true
        else { return }
        _ = try await store(snapshot, over: current)
    }

    /// Stores a verified state, and serves it from now on. Does I/O.
    ///
    /// - Returns: the state to serve from now on. It is another process's if that has stored a newer one meanwhile.
    /// - Throws: why it cannot be stored. It is served from memory then.
    private func store(_ snapshot: Snapshot, over current: CurrentState) async throws -> CurrentState {
        let (storage, key) = (session.storage, collection.key)
        let file = CacheFile(snapshot, server: "\(try session.server.get())")
        let isCached = current.slot.current != nil && current.stored == current.slot.current
        let stale =
            try current.snapshot.map {
                isCached ? try storage.staleAttachments(id, from: $0.records, to: snapshot.records) : []
            } ?? []
        var stored = current.replaced(by: snapshot)
        var isOvertaken = false
        let (_, problem) = try await storage.update { index in
            // This is checked under the lock, so that a closed session cannot write after the session that follows it.
            guard !session.isClosed else { throw RemoteSettingsError.closed }
            var entry = index[key]
            // A stored state that is not in use is read again as well. It may have been unreadable for a moment, and
            // may be newer.
            if !entry.synced.hasSameStates(as: current.slot) || entry.synced.current != nil && !isCached {
                let found = session.choice.choose(id, from: entry.synced, asking: collection.trial)
                if let timestamp = found.timestamp, found.stored != nil, timestamp >= snapshot.timestamp,
                    found.stored.map(storage.has) == true
                {
                    (stored, isOvertaken) = (found, true)
                    return
                }
            }
            session.replace(&entry.synced, by: storage.add(file), subject, keepsOld: !stale.isEmpty)
            entry.record(snapshot, session)
            index[key] = entry
            index.forgetOldEnvironments(of: id, besides: key)
            stored.slot = entry.synced
        } then: { index in
            guard !isOvertaken else { return }
            do throws(BundleError) {
                try storage.removeOrphanedAttachments(of: collection, keeping: snapshot.records, stale, in: index)
            } catch {
                reportCleanup(error)
            }
        }
        collection.use(stored)
        if let problem { throw problem }
        return stored
    }

    private var subject: StateTrials.Subject { collection.subject }

    func reportDamage(of current: CurrentState) {
        for rejected in current.rejected where rejected.source == .cached {
            guard case .damaged(let problem) = rejected.reason else { continue }
            report(.corruptionError, RemoteSettingsError.storage(reason: problem))
        }
    }

    func reportRetry(_ reason: HTTPError?) {
        guard let reason else { return }
        session.logger.notice("\(id): a delta could not be used; all records were fetched: \(reason)")
        report(.init(reason), reason)
    }

    private func reportCleanup(_ failure: BundleError) {
        session.logger.warning("\(id): unused attachments could not be removed: \(failure)")
        report(.cleanupError, failure)
    }

    private func report(_ status: UptakeEvent.Status, _ error: any Error) {
        session.report("\(id)", status, trigger, since: session.now, error: error)
    }
}

extension CurrentState {
    /// Whether the server's state of a timestamp has to be fetched.
    ///
    /// A server's list that is older than the current state is not a rollback: a cache may have kept it, the server's
    /// export may have overlapped with a publication, or another sync has stored something since. But the server's own
    /// state replaces one that only stands in for it, even if that is newer.
    fileprivate func isReplaced(by timestamp: Timestamp, acceptsUnsigned: Bool) -> Bool {
        guard let own = self.timestamp else { return true }
        // Between an imported state and one that nobody signs, the timestamp decides.
        if isImported { return own <= timestamp || !acceptsUnsigned }
        return isStandIn ? own != timestamp : own < timestamp
    }

    private var isImported: Bool { snapshot?.provenance == .imported }

    /// Whether the collection is known to be signed.
    var wasSigned: Bool { snapshot?.provenance.isSigned ?? isKnownSigned }

    /// Whether storing a fetched state would change nothing.
    fileprivate func isSame(as fetched: Snapshot) -> Bool {
        guard let snapshot, !isImported, snapshot.payload == fetched.payload else { return false }
        return source != .cached || snapshot.metadata.json == fetched.metadata.json
    }

    /// This state with a verified one from the server in its place.
    func replaced(by snapshot: Snapshot) -> CurrentState {
        var new = self
        new.rejected.removeAll { $0.source == .cached || $0.reason == .notFound }
        if case .packaged = source {
            new.rejected.append(.init(source: source, timestamp: timestamp, reason: .older))
        }
        new.serve(snapshot, from: .cached, isVerifiedOnDevice: true)
        new.isKnownSigned = isKnownSigned || snapshot.provenance.isSigned
        return new
    }

    /// The lowest timestamp that a verified state of the server may have.
    ///
    /// Only a signed state sets a minimum, because anyone could have chosen the timestamp of an unsigned one. What the
    /// index says of the newest state matters if that state is lost. It counts only if the state's root is pinned now:
    /// the owner of a key under a removed root could have chosen any timestamp.
    func floor(of collection: LocalCollection) -> Timestamp? {
        let session = collection.session
        // The index is not signed. A time in the future comes from damage, and would refuse everything.
        let latest = session.now.advanced(by: .seconds(Limits.clockToleranceSeconds))
        let stored = session.storage.index()[collection.key].newest
            .filter { session.trust.roots.roots.contains($0.root) && $0.timestamp <= latest }.map(\.timestamp)
        let served = snapshot?.provenance.isSigned == true && !isStandIn ? [timestamp].compactMap(\.self) : []
        return (stored + served).max()
    }
}

extension StorageIndex.Collection {
    /// Notes that a verified state was stored.
    mutating func record(_ snapshot: Snapshot, _ session: Session) {
        checked = session.now
        guard let root = snapshot.provenance.verdict?.root else { return }
        record(.init(root: root, timestamp: snapshot.timestamp))
    }
}

extension LocalCollection {
    /// Whether nothing has been read yet, and what is stored is the server's state of this timestamp.
    ///
    /// Nothing is verified: a read verifies what it serves. A state that is already in use is asked with ``current()``,
    /// which shows another process's stores to listeners as well.
    func isStored(_ timestamp: Timestamp) -> Bool {
        guard overriding == nil, session.publisher == nil, !session.changes.isFollowed(id), !hasRead,
            let stored = session.storage.index()[key].synced.current, stored.timestamp == timestamp,
            ServerIdentity(stored.server) == session.serverIdentity,
            let root = stored.root, session.trust.roots.roots.contains(root),
            trial.refusal(at: timestamp) == nil,
            (try? session.choice.packaged.listed(id))?.allSatisfy({ $0.lock.timestamp <= timestamp }) == true
        else { return false }
        return isThere(stored)
    }

    /// Whether a stored state's file is there: with its size, and with content that was hashed within a day.
    func isThere(_ stored: StoredState) -> Bool {
        let (storage, now, key) = (session.storage, session.now, key)
        guard storage.has(stored) else { return false }
        let entry = storage.index()[key]
        guard entry.synced.current == stored else { return storage.isWhole(stored) }
        if let checked = entry.checked, checked <= now, now.elapsed(since: checked) < .seconds(86_400) { return true }
        guard storage.isWhole(stored) else { return false }
        session.remember { if $0[key].synced.current == stored { $0[key].checked = now } }
        return true
    }
}
