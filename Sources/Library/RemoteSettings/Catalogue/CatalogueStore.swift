import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// Stores a catalogue so that every reader, in this process and in others, sees either the previous one or this one,
/// whole. This holds whenever the process is killed.
///
/// The steps have the same names as in the model `Tests/Models/catalogue.pml`:
///
/// 1. *stage*: each new state is written beside the current one, as `<collection>.staged`.
/// 2. *commit*: the catalogue's file is replaced by a rename. From now on the catalogue is visible: readers find in the
///    catalogue which bytes belong to it, and look for them under both names.
/// 3. *settle*: each staged file gets the name of the state that it replaces.
///
/// If a process is killed after the commit, it leaves staged files, which the next writer settles. If it is killed
/// before, it leaves staged files that no catalogue lists, which the next writer removes. Everything happens under the
/// storage lock.
struct CatalogueStore {
    /// A state that the catalogue lists. It was found here or fetched.
    struct ListedState {
        let id: CollectionID
        /// What is held once the catalogue is shown.
        let current: CurrentState
        /// The state if it has to be stored; `nil` if it was found here.
        let fetched: Snapshot?
        /// What was held before.
        let before: CurrentState
    }

    let session: Session
    let publisher: PublisherName
    /// The reason that telemetry reports for the sync.
    let trigger: UptakeEvent.Trigger
    private var storage: StorageDirectory { session.storage }

    /// - Parameter show: called under the lock with what is visible from then on, the version of the catalogue's file,
    ///   and the versions of the states' files.
    /// - Returns: what is visible now: the catalogue, or a later one that another process has stored.
    /// - Throws: `FileError`. The previous catalogue is then still visible.
    func commit(
        _ view: CatalogueView, _ states: [ListedState],
        show: (CatalogueView, CacheIdentity?, _ stored: [CollectionID: CacheIdentity]) -> Void
    ) throws -> CatalogueView {
        let present = session.findCatalogue(of: publisher)
        if let stored = present.view, stored.snapshot.payload != view.snapshot.payload {
            do throws(CatalogueError) {
                try view.checkSuccession(of: stored)
            } catch {
                session.logger.info("another process has stored a later catalogue: \(error)")
                show(stored, present.identity, [:])
                return stored
            }
        }
        var waiting = recoverLeftovers(of: present.view, before: view)
        var stored: [CollectionID: CacheIdentity] = [:]
        let server = "\(try session.server.get())"
        let most = StorageDirectory.mostCacheBytes(session.limits)
        for state in states {
            // This version must not replace what a later version of the library has stored. The state is used in this
            // process only.
            guard !state.before.isOfLaterFormat, let snapshot = snapshotToStage(state, in: view) else {
                stored[state.id] = state.current.storedIdentity
                continue
            }
            let file = CacheFile(snapshot, server: server)
            try FileStore.replace(
                storage.stagedPath(state.id), below: storage.path, with: file.bytes, limit: most)
            stored[state.id] = try? FileStore.identity(storage.stagedPath(state.id))
            waiting[state.id] = .some(state)
        }
        var identity = present.identity
        if present.view?.source != .cached || present.view?.snapshot.payload != view.snapshot.payload {
            if session.keepsPrevious(Catalogue.collection) == true { try storage.keepPrevious(Catalogue.collection) }
            let file = CacheFile(view.snapshot, server: server)
            try FileStore.replace(
                storage.snapshotPath(Catalogue.collection), below: storage.path, with: file.bytes, limit: most)
            identity = try? storage.identity(Catalogue.collection)
        }
        for (id, state) in waiting.sorted(by: { $0.key < $1.key }) { settle(id, state) }
        show(view, identity, stored)
        return view
    }

    /// The snapshot to be staged; `nil` if the state is in the storage directory or packaged.
    ///
    /// A state that was found in the storage directory before the lock was taken is checked again. Another process may
    /// have removed it because its catalogue did not list it.
    private func snapshotToStage(_ state: ListedState, in view: CatalogueView) -> Snapshot? {
        if let fetched = state.fetched { return fetched }
        guard state.current.source == .cached, let snapshot = state.current.snapshot else { return nil }
        for path in [storage.snapshotPath(state.id), storage.stagedPath(state.id)] {
            if let known = state.current.storedIdentity, (try? FileStore.identity(path)) == known { return nil }
            let file = try? storage.cacheFile(state.id, at: path, limits: session.limits)
            if let file, ((try? view.snapshot(of: file)) ?? nil) != nil { return nil }
        }
        return snapshot
    }

    /// Gives a staged file the name of the state that it replaces.
    ///
    /// - Parameter state: the state; `nil` if another process staged it. Attachments of what was held before it may
    ///   stand in for its own.
    private func settle(_ id: CollectionID, _ state: ListedState?) {
        do throws(FileError) {
            let old = state.flatMap { $0.before.isCached ? $0.before.snapshot : nil }
            let failure = try storage.replaceState(
                of: id, old?.records, by: state?.current.snapshot?.records, now: session.now,
                keepsOld: session.allTrials.isSafeStart ? isOfPreviousCatalogue(id) : nil
            ) { () throws(FileError) in
                try FileStore.rename(storage.stagedPath(id), to: storage.snapshotPath(id), below: storage.path)
            }
            if let failure { throw failure }
        } catch {
            // Readers find the state under either name. The next writer tries again.
            session.logger.warning("\(id): \(error)")
            session.report("\(id)", .cleanupError, trigger, since: session.now, error: error)
        }
    }

    /// Whether the catalogue to go back to lists a collection's stored state. It is not verified, so it decides only
    /// what is kept.
    private func isOfPreviousCatalogue(_ id: CollectionID) -> Bool {
        func file(_ id: CollectionID, _ path: String) -> CacheFile? {
            try? storage.cacheFile(id, at: path, limits: session.limits)
        }
        guard let kept = file(Catalogue.collection, storage.previousPath(Catalogue.collection)),
            let payload = try? Payload(parsing: kept.payload, limits: session.limits),
            let entry = try? Catalogue(payload.records).entries[id], let state = file(id, storage.snapshotPath(id))
        else { return false }
        return entry.timestamp == state.timestamp && entry.payload == SHA256Digest(hashing: state.payload)
    }

    /// Settles what a killed process has committed, and removes the rest. Call it under the storage lock.
    func recoverLeftovers() { _ = recoverLeftovers(of: session.findCatalogue(of: publisher).view, before: nil) }

    /// Settles what a killed process has committed, and removes the rest unless the next catalogue lists it.
    ///
    /// - Returns: the collections whose staged state the next catalogue lists.
    private func recoverLeftovers(
        of view: CatalogueView?, before next: CatalogueView?
    ) -> [CollectionID: ListedState?] {
        var waiting: [CollectionID: ListedState?] = [:]
        for id in (try? storage.stagedCollections()) ?? [] {
            let path = storage.stagedPath(id)
            let file = try? storage.cacheFile(id, at: path, limits: session.limits)
            if let file, let view, ((try? view.snapshot(of: file)) ?? nil) != nil {
                settle(id, nil)
            } else if let file, let next, ((try? next.snapshot(of: file)) ?? nil) != nil {
                waiting[id] = .some(nil)
            } else {
                try? FileStore.remove(path, below: storage.path)
            }
        }
        return waiting
    }
}
