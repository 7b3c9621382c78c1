import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// A sync of one collection: it compares timestamps, fetches and verifies the server's state, stores it and puts it
/// into use.
///
/// | Local state | The server's timestamp | Action of the sync |
/// |---|---|---|
/// | not read yet | the stored state's | nothing: the state's file exists, and was hashed within a day |
/// | a state | the same, or an older one | nothing: an older list of collections is stale, but not a rollback |
/// | a state whose file is lost or damaged | the same | writes the file again |
/// | none as new as the stored one, which no read accepts | the stored one's | fetches everything |
/// | a state older than the stored one, which no read accepts | its own, or an older one | removes the stored one |
/// | a state | a newer one | fetches the changes; if they do not verify, fetches everything once |
/// | none, or only refused states | any | fetches everything |
/// | an imported state | any | fetches, because the server's state is signed |
/// | a state of a different server | a different one, older or newer | fetches, and uses the server's state |
/// | a state | a newer one, but the server sends the same records | nothing: up to date |
/// | a state | a newer one, but the server sends an older state | fails with a rollback error |
/// | a state | a newer one, but no response verifies | fails |
/// | any | the timestamp of a rejected state | fails without a request |
/// | a state | a newer one, but the app's check rejects it | fails, and records the rejection |
/// | a newer state, stored by another process in the meantime | any | uses that state |
///
/// A sync that fails or is killed leaves the local state unchanged, unless it is killed after it has written the index.
/// A verified state that cannot be stored is used until the process exits, and the sync fails with the reason.
extension SyncRun {
    func update(_ collection: LocalCollection) async throws -> SyncOutcome {
        let expected = monitor.collections[collection.id]
        // Whether the state is current can be decided without verifying it, because every read verifies the state it
        // uses.
        if let expected, collection.isStored(expected) { return .upToDate(expected) }
        return try await CollectionSync(session: session, collection: collection, trigger: trigger)
            .update(to: expected) { wanted in try await fetcher.fetch(wanted) }
    }
}

/// The update of one collection from its current state to the server's.
struct CollectionSync {
    let session: Session
    let collection: LocalCollection
    /// The reason reported to telemetry.
    let trigger: UptakeEvent.Trigger
    var id: CollectionID { collection.id }

    /// Updates the collection.
    ///
    /// - Parameters:
    ///   - expected: the server's timestamp; `nil` if the server does not list the collection.
    ///   - fetch: a closure that fetches and verifies the server's state; it returns `nil` if there is nothing newer.
    func update(
        to expected: Timestamp?, fetch: (CollectionFetcher.Wanted) async throws -> CollectionFetcher.Fetched?
    ) async throws -> SyncOutcome {
        let current = collection.current()
        reportDamage(of: current)
        if let expected, let standing = current.standing,
            !standing.isBehind(announced: expected, acceptsUnsigned: session.trust.acceptsUnsigned)
        {
            try await restore(current)
            return .upToDate(standing.timestamp)
        }
        if let expected { try checkWanted(expected) }
        // If the local timestamp is ahead of the server's, the server cannot compute the changes since then.
        let isAhead = current.isStandIn && expected.map { $0 < current.timestamp ?? $0 } ?? false
        var wanted = CollectionFetcher.Wanted(
            id: id, expected: expected, held: current.held(of: collection),
            base: isAhead ? nil : current.snapshot?.payload)
        wanted.needsState = current.isStandIn
        let answer: CollectionFetcher.Fetched?
        do {
            answer = try await fetch(wanted)
        } catch {
            recordContradiction(error, current)
            throw error
        }
        guard let fetched = answer else {
            try await restore(current)
            return .upToDate(current.timestamp ?? Timestamp(milliseconds: 0))
        }
        reportRetry(fetched.retried)
        if fetched.succession == .same, current.hasMetadata(of: fetched.snapshot) {
            try await restore(current)
            return .upToDate(fetched.snapshot.timestamp)
        }
        try await validate(fetched.snapshot, over: current)
        let stored = try await store(fetched.snapshot, over: current)
        return .updated(stored.timestamp ?? fetched.snapshot.timestamp)
    }

    /// Records a rollback that only the index proves. The index is not signed, so a forged timestamp could keep the
    /// states of an honest server back forever.
    private func recordContradiction(_ error: any Error, _ current: CurrentState) {
        guard case .rollback(_, let answered)? = (error as? Failure)?.cause else { return }
        let (proven, now, key) = (max(answered, current.timestamp ?? answered), session.now, collection.key)
        session.remember { index in
            for position in index[key].newest.indices where index[key].newest[position].timestamp > proven {
                let earlier = index[key].newest[position].contradicted
                // If the clock was set back since, the day begins again.
                index[key].newest[position].contradicted = earlier.map { min($0, now) } ?? now
            }
        }
    }

    /// Makes the storage directory agree with an up-to-date state: writes its file again if it was lost or damaged,
    /// writes any data that could not be written before, and removes a state that cannot be used from the index.
    func restore(_ current: CurrentState) async throws {
        if session.storage.hasUnsaved { session.remember { _ in } }
        if current.source == .cached, let snapshot = current.snapshot,
            !(current.stored.map(collection.isThere) ?? false)
        {
            _ = try await store(snapshot, over: current)
        } else if let unusable = collection.unusable {
            session.remember { index in
                guard index[collection.key].synced.current == unusable else { return }
                index[collection.key].removeCurrent()
            }
        }
    }

    /// Stores a verified state, and uses it from now on. Does I/O.
    ///
    /// - Returns: the state to use from now on. It is another process's state if that process has stored a newer one in
    ///   the meantime.
    /// - Throws: the reason that the state cannot be stored. It is used from memory in that case.
    private func store(_ snapshot: Snapshot, over current: CurrentState) async throws -> CurrentState {
        let (storage, key) = (session.storage, collection.key)
        let file = CacheFile(snapshot, server: "\(try session.server.get())")
        let isCached = current.slot.current != nil && current.stored == current.slot.current
        let stale =
            try current.snapshot.map {
                isCached ? try storage.staleAttachments(id, from: $0.records, to: snapshot.records) : []
            } ?? []
        let new = current.replaced(by: snapshot)
        var (stored, isOvertaken) = (new, false)
        let (_, problem) = try await storage.update { index in
            (stored, isOvertaken) = (new, false)
            // This check must be under the lock, so that a closed session cannot write after the session that replaced
            // it.
            guard !session.isClosed else { throw RemoteSettingsError.closed }
            var entry = index[key]
            // Read a stored state again even if it is not in use: it may have been unreadable for a moment, and may be
            // newer.
            if !entry.synced.hasSameStates(as: current.slot) || entry.synced.current != nil && !isCached {
                let found = session.choice.choose(id, from: entry.synced, asking: collection.trial)
                if found.snapshot != nil, found.succession(of: snapshot.standing) != .replace,
                    found.stored.map(storage.has) == true
                {
                    (stored, isOvertaken) = (found, true)
                    return
                }
            }
            // A state that cannot be used must not become the one to roll back to.
            if let old = entry.synced.current, entry.refused == old.file, !isCached || current.source != .cached {
                entry.removeCurrent()
            }
            session.replace(&entry.synced, by: storage.add(file, to: &index), subject, keepsOld: !stale.isEmpty)
            entry.record(snapshot, session)
            index[key] = entry
            index.forgetOldEnvironments(of: id, besides: key)
            stored.slot = entry.synced
        } then: { index in
            guard !isOvertaken else { return }
            do throws(Failure) {
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
        for rejected in current.unused where rejected.source == .cached {
            guard case .damaged(let problem) = rejected.reason else { continue }
            report(.corruptionError, RemoteSettingsError.storage(reason: problem))
        }
    }

    func reportRetry(_ reason: Failure?) {
        guard let reason else { return }
        session.logger.notice("\(id): a delta could not be used; all records were fetched: \(reason)")
        report(.init(reason), reason)
    }

    private func reportCleanup(_ failure: Failure) {
        session.logger.warning("\(id): unused attachments could not be removed: \(failure)")
        report(.cleanupError, failure)
    }

    private func report(_ status: UptakeEvent.Status, _ error: any Error) {
        session.report("\(id)", status, trigger, since: session.now, error: error)
    }
}

extension CurrentState {
    /// Whether the collection is known to be signed.
    private var wasSigned: Bool { snapshot?.provenance.isSigned ?? isKnownSigned }

    /// Returns whether storing a fetched state with the same records would change nothing.
    fileprivate func hasMetadata(of fetched: Snapshot) -> Bool {
        source != .cached || snapshot?.metadata.json == fetched.metadata.json
    }

    /// Returns this state with its snapshot replaced by a verified one from the server.
    func replaced(by snapshot: Snapshot) -> CurrentState {
        var new = self
        new.unused.removeAll { $0.source == .cached || $0.reason == .notFound }
        if case .packaged = source {
            new.unused.append(.init(source: source, timestamp: timestamp, reason: .older))
        }
        new.serve(snapshot, from: .cached, isVerifiedOnDevice: true)
        new.isKnownSigned = isKnownSigned || snapshot.provenance.isSigned
        return new
    }

    /// Returns the state that the server's one must succeed.
    ///
    /// It is the one in use. If the newest state is lost, its timestamp in the index still counts, but only if its root
    /// is still pinned: the owner of a key under a removed root could have chosen any timestamp. It does so for a day
    /// after the first state that it keeps back.
    func held(of collection: LocalCollection) -> CollectionFetcher.Held? {
        let session = collection.session
        // The index is not signed. A timestamp in the future is a sign of damage and would cause all states to be
        // refused, so it is ignored.
        let latest = session.now.advanced(by: .seconds(Limits.clockToleranceSeconds))
        let lost = session.storage.index()[collection.key].newest
            .filter { session.trust.roots.roots.contains($0.root) && $0.timestamp <= latest }
            .filter { !$0.isRefuted(at: session.now) }.map(\.timestamp).max()
            .map { Standing($0, wasSigned ? .signed : .unsigned) }
        if let lost, succession(of: lost) == .replace { return .init(lost, nil, isProven: true) }
        if let standing { return .init(standing, snapshot?.payload, isProven: true) }
        return isKnownSigned ? .init(Standing(Timestamp(milliseconds: 0), .signed), nil, isProven: false) : nil
    }
}

extension StorageIndex.Collection {
    /// Removes the current synced state. The previous one, if there is one, takes its place.
    fileprivate mutating func removeCurrent() {
        (synced.current, synced.previous) = (synced.previous, nil)
        (checked, refused) = (nil, nil)
    }

    /// Records that a verified state was stored.
    mutating func record(_ snapshot: Snapshot, _ session: Session) {
        (checked, refused) = (session.now, nil)
        guard let root = snapshot.provenance.verdict?.root else { return }
        record(.init(root: root, timestamp: snapshot.timestamp))
    }
}

extension LocalCollection {
    /// Returns whether the collection has not been read yet and the stored state has this timestamp.
    ///
    /// Nothing is verified here, because every read verifies the state it uses. For a state that is already in use,
    /// call ``current()`` instead, which also notifies listeners of states stored by other processes.
    func isStored(_ timestamp: Timestamp) -> Bool {
        guard overriding == nil, !session.changes.isFollowed(id), !hasRead,
            case let entry = session.storage.index()[key], let stored = entry.synced.current,
            stored.timestamp == timestamp, entry.refused != stored.file, stored.root != nil, describesOwn(stored),
            trial.refusal(at: timestamp) == nil,
            (try? session.choice.packaged.listed(id))?.allSatisfy({ bundle in
                succession(of: bundle.lock.standing, after: stored.standing, in: Situation(.stored)) != .replace
            }) == true
        else { return false }
        return isThere(stored)
    }

    /// Returns whether the index describes a state of the configured server, which is unsigned or has a pinned root.
    func describesOwn(_ stored: StoredState) -> Bool {
        ServerIdentity(stored.server) == session.serverIdentity
            && stored.root.map(session.trust.roots.roots.contains) ?? true
    }

    /// The state that the index lists although it cannot be used, because its file is missing or a read has refused it,
    /// and there is no state as new in its place.
    ///
    /// The next sync fetches it again or, if the server does not have it either, removes it from the index.
    var unusable: StoredState? {
        guard overriding == nil, !session.config.isPackagedOnly, case let entry = session.storage.index()[key],
            let stored = entry.synced.current,
            entry.refused == stored.file || !session.storage.has(stored)
        else { return nil }
        let current = current()
        if current.succession(of: stored.standing) == .replace { return stored }
        // The next sync writes the file of a state that this process still has.
        return current.source == .cached && !session.storage.has(stored) ? stored : nil
    }

    /// Returns whether a stored state's file exists and is intact. Hashes the content, unless this is the current state
    /// and it was hashed within the last day; then only the size is checked.
    func isThere(_ stored: StoredState) -> Bool {
        let (storage, now, key) = (session.storage, session.now, key)
        guard storage.has(stored) else { return false }
        let entry = storage.index()[key]
        guard entry.synced.current == stored else { return storage.isWhole(stored) }
        if entry.refused != stored.file, let checked = entry.checked, checked <= now,
            now.elapsed(since: checked) < .seconds(86_400)
        {
            return true
        }
        guard storage.isWhole(stored) else { return false }
        session.remember { if $0[key].synced.current == stored { $0[key].checked = now } }
        return true
    }
}
