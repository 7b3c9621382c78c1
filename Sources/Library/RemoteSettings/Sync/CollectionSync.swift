import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// A sync of one collection: compare, fetch and verify, store, serve.
///
/// | Here | The server's timestamp | What the sync does |
/// |---|---|---|
/// | nothing was read yet | the one in the cache file's first line | nothing: up to date, and nothing is verified |
/// | a state | the same, or an older one | nothing: an older list of collections is stale, and no rollback |
/// | a state | a newer one | fetches the changes; if they do not verify, fetches everything once |
/// | nothing, or only what was refused | any | fetches everything |
/// | an imported state | the same, or a newer one | fetches, because the server's state is signed |
/// | a state | a newer one, and it answers with the same records | nothing: up to date |
/// | a state | a newer one, and it answers with an older state | fails with a rollback |
/// | a state | a newer one, and nothing that it sends verifies | fails |
/// | any | one whose state is set aside | fails without a request |
/// | a state | a newer one, and the app's check refuses it | fails, and sets that state aside |
/// | a newer state, which another process stored meanwhile | any | uses that one |
///
/// A sync that fails or is killed leaves what was there. A sync that is killed after it has stored the state leaves a
/// whole file, which the next start verifies and serves.
extension SyncRun {
    func update(_ collection: LocalCollection) async throws -> SyncOutcome {
        let expected = monitor.collections[collection.id]
        // A read verifies what it serves. Only to learn that nothing is new, nothing has to be verified.
        if let expected, collection.storedState(isOf: expected) { return .upToDate(expected) }
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
        if let expected, let timestamp = current.timestamp, !current.isReplaced(by: expected) {
            return .upToDate(timestamp)
        }
        if let expected { try checkWanted(expected) }
        let floor = current.floor(of: id, session)
        let wanted = CollectionFetcher.Wanted(
            id: id, expected: expected, base: current.snapshot?.payload, floor: floor, wasSigned: current.wasSigned)
        guard let fetched = try await fetch(wanted) else {
            return .upToDate(current.timestamp ?? Timestamp(milliseconds: 0))
        }
        reportRetry(fetched.retried)
        if current.isSame(as: fetched.snapshot) { return .upToDate(fetched.snapshot.timestamp) }
        try await validate(fetched.snapshot, over: current)
        let stored = try await collection.storing { try await store(fetched.snapshot, over: current) }
        collection.sendChanges(from: current, to: stored)
        return .updated(stored.timestamp ?? fetched.snapshot.timestamp)
    }

    /// Writes a verified state into the storage directory. Does I/O.
    ///
    /// - Returns: the state to serve from now on. It is another process's if that has stored a newer one meanwhile.
    /// - Throws: `FileError`, or `RemoteSettingsError` if another process holds the directory for too long.
    private func store(_ snapshot: Snapshot, over current: CurrentState) async throws -> CurrentState {
        try await session.withStorageLock {
            // This is checked under the lock, so that a closed session cannot write after the session that follows it.
            guard !session.isClosed else { throw RemoteSettingsError.closed }
            let storage = session.storage
            let identity = try storage.identity(id)
            var isOfLaterFormat = current.isOfLaterFormat
            // A cache file that is not in use is read again as well. It may have been unreadable for a moment, and may
            // be newer.
            if identity != current.cacheIdentity || identity != nil && !current.isCached {
                let found = session.loader.load(id)
                isOfLaterFormat = found.isOfLaterFormat
                if found.isCached, let timestamp = found.timestamp, timestamp >= snapshot.timestamp { return found }
            }
            // The state is used for as long as the process runs. This version must not replace what a later version has
            // stored.
            if isOfLaterFormat {
                var kept = current
                (kept.isOfLaterFormat, kept.cacheIdentity) = (true, identity)
                return kept.replaced(by: snapshot)
            }
            let file = CacheFile(snapshot, server: "\(try session.server.get())")
            let failure = try storage.replaceState(
                of: id, current.isCached ? current.snapshot?.records : nil, by: snapshot.records, now: session.now,
                keepsOld: session.keepsPrevious(id)
            ) { () throws(FileError) in
                try FileStore.replace(
                    storage.snapshotPath(id), below: storage.path, with: file.bytes,
                    limit: StorageDirectory.mostCacheBytes(session.limits))
            }
            if let failure { reportCleanup(failure) }
            var stored = current.replaced(by: snapshot)
            stored.highWaterMark = file.mark
            // If the identity cannot be read, the file is read again at the next call.
            stored.cacheIdentity = try? storage.identity(id)
            return stored
        }
    }

    func reportDamage(of current: CurrentState) {
        for rejected in current.rejected where rejected.source == .cached {
            guard case .damaged(let problem) = rejected.reason else { continue }
            report(.corruptionError, RemoteSettingsError.storage(reason: problem))
        }
    }

    func reportRetry(_ reason: FetchError?) {
        guard let reason else { return }
        session.logger.notice("\(id): a delta could not be used, everything was fetched: \(reason)")
        report(.init(reason), reason)
    }

    private func reportCleanup(_ failure: FileError) {
        session.logger.warning("\(id): attachments that no record has any more could not be removed: \(failure)")
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
    /// export may have overlapped with a publication, or another sync has stored something since. An imported state is
    /// not signed, so the server's own replaces it even if it is not newer.
    fileprivate func isReplaced(by timestamp: Timestamp) -> Bool {
        guard let own = self.timestamp else { return true }
        return own < timestamp || isImported && own == timestamp
    }

    private var isImported: Bool { snapshot?.provenance == .imported }

    /// Whether the collection is known to be signed.
    var wasSigned: Bool { snapshot?.provenance.isSigned ?? isKnownSigned }

    /// Whether storing a fetched state would change nothing.
    fileprivate func isSame(as fetched: Snapshot) -> Bool {
        guard let snapshot, !isImported, snapshot.payload == fetched.payload else { return false }
        return source != .cached || snapshot.metadata.json == fetched.metadata.json
    }

    /// This state with a verified one from the server in its place, which is stored unless the cache file is of a later
    /// format.
    func replaced(by snapshot: Snapshot) -> CurrentState {
        var new = self
        if !isOfLaterFormat {
            new.rejected.removeAll { $0.source == .cached || $0.reason == .notFound }
            if case .packaged = source {
                new.rejected.append(.init(source: source, timestamp: timestamp, reason: .older))
            }
        }
        new.isCached = !isOfLaterFormat
        new.serve(snapshot, from: .cached, isVerifiedOnDevice: true)
        if snapshot.chain != nil { new.recordSigned(asOf: snapshot.timestamp) }
        return new
    }

    /// The lowest timestamp that a verified state of the server may have.
    ///
    /// Only a signed state sets a minimum, because anyone could have chosen the timestamp of an unsigned one. The
    /// high-water mark matters if its file is damaged. It counts only if the state's chain leads to a root that is
    /// pinned now: the owner of a key under a removed root could have chosen any timestamp.
    func floor(of id: CollectionID, _ session: Session) -> Timestamp? {
        let timestamp = snapshot?.provenance.isSigned == true ? self.timestamp : nil
        guard let mark = highWaterMark, timestamp.map({ $0 < mark.timestamp }) ?? true,
            // The mark is not signed. A mark in the future comes from damage, and would refuse everything.
            mark.timestamp <= session.now.advanced(by: .seconds(Limits.clockToleranceSeconds)),
            session.loader.verifier.vouches(forChain: mark.chain, of: id, at: mark.verifiedAt)
        else { return timestamp }
        return mark.timestamp
    }
}
