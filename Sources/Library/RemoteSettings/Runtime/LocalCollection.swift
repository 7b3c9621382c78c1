import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust
import TargetFilter

/// One collection under one session, for all its clients: what it holds, and the records that are for this app.
///
/// No lock is held while a file is looked at, read or verified.
final class LocalCollection: Sendable {
    private struct State {
        var held: HeldState?
        var answer: [RemoteSettingsRecord]?
        /// Grows whenever another state replaces `held`, so that nothing computed from an older state is kept.
        var generation = 0
        /// The state in use under an earlier configuration that trusts the same. The collection does not go back behind
        /// it.
        var earlier: HeldState?
        /// The last cached state that was read while a packaged one is in use. The collection does not go back behind
        /// it.
        var cachedBehindPackaged: HeldState?
        /// The state that comes into use as soon as the session shows its release.
        var next: HeldState?
        /// Stores by this process that are under way. The files that they replace need not be read again.
        var stores = 0

        mutating func replace(_ held: HeldState?) {
            self.held = held
            next = nil
            answer = nil
            generation += 1
        }
    }

    let id: CollectionID
    let session: Session
    private let cachePath: String
    /// What was found when the collection was first used.
    private let override = Mutex<OverridingFile??>(nil)
    private let state = Mutex(State())

    /// - Parameter earlier: the same collection under the previous configuration, which trusts the same.
    init(_ id: CollectionID, _ session: Session, after earlier: LocalCollection? = nil) {
        self.id = id
        self.session = session
        cachePath = session.storage.snapshotPath(id)
        let served = earlier?.state.withLock { $0.held?.source == .cached ? $0.held : $0.earlier }
        if let served { state.withLock { $0.earlier = served } }
    }

    /// The file that replaces the collection; `nil` if there is none. Does I/O at the first call if an override is a
    /// directory.
    var overriding: OverridingFile? {
        if session.config.overrides.isEmpty { return nil }
        if let known = override.withLock({ $0 }) { return known }
        let found = OverridingFile(id, session)
        return override.withLock { override in
            if let first = override { return first }
            override = .some(found)
            return found
        }
    }

    /// What is held now.
    ///
    /// The first call in a process reads and verifies. So does the first call after another process has replaced the
    /// cache file, which one `lstat` shows. Two concurrent calls may both do it.
    func held() -> HeldState {
        if let overriding {
            let (held, before) = overriding.held()
            if let before { sendChanges(from: before, to: held) }
            return held
        }
        if id != Catalogue.collection, session.releaseOrigin != nil {
            if let view = session.currentRelease() { return held(of: view) }
        }
        let (known, generation, isStoring) = state.withLock { ($0.held, $0.generation, $0.stores > 0) }
        guard let known else { return load(generation) }
        guard !isStoring, (try? FileStore.identity(cachePath)) != known.cacheIdentity else { return known }
        return reload(known, generation)
    }

    /// What is held while a release is in use.
    ///
    /// A state of the release needs no look at its file. Its bytes are those that the catalogue lists, whatever happens
    /// to the file.
    private func held(of view: ReleaseView) -> HeldState {
        let (known, next, generation) = state.withLock { ($0.held, $0.next, $0.generation) }
        if let known, known.view === view, next?.view !== view || known.isOfRelease {
            if known.isOfRelease { return known }
            if (try? FileStore.identity(cachePath)) == known.cacheIdentity { return known }
        }
        var loaded: HeldState
        if let next, next.view === view {
            loaded = next
        } else {
            var view = view
            loaded = session.loader.load(id, of: view)
            if !loaded.isOfRelease, view.catalogue.entries[id] != nil { session.lookAgain(after: view) }
            // Another process may have stored a later release, and this file with it.
            while !loaded.isOfRelease, let present = session.currentRelease(), present !== view {
                view = present
                loaded = session.loader.load(id, of: view)
            }
            let earlier = known ?? state.withLock { $0.earlier }
            if !loaded.isOfRelease, let earlier {
                loaded = loaded.notOlder(than: earlier)
                loaded.view = view
                loaded.isOfRelease = loaded.snapshot.map { view.catalogue.lists($0.payload, of: id) } ?? false
            }
        }
        let isTaken = state.withLock { state in
            guard state.generation == generation else { return false }
            state.replace(loaded)
            state.earlier = nil
            return true
        }
        guard isTaken else { return state.withLock { $0.held } ?? loaded }
        if let known, known.snapshot?.payload != loaded.snapshot?.payload { sendChanges(from: known, to: loaded) }
        return loaded
    }

    /// Whether nothing has been read yet, and what there is says of itself that it is of this timestamp.
    ///
    /// Nothing is verified. A state that is already in use is asked with ``held()``, which shows another process's
    /// stores to listeners as well.
    func claims(_ timestamp: Timestamp) -> Bool {
        guard overriding == nil, session.releaseOrigin == nil, !session.changes.isFollowed(id),
            state.withLock({ $0.held == nil && $0.earlier == nil })
        else { return false }
        return session.loader.claims(id, at: timestamp)
    }

    /// Keeps a state ready for the moment at which the session shows its release.
    func prepare(_ next: HeldState) { state.withLock { $0.next = next } }

    private func load(_ generation: Int) -> HeldState {
        let found = session.loader.load(id)
        let loaded = state.withLock { $0.earlier }.map { found.notOlder(than: $0) } ?? found
        return state.withLock { state in
            guard state.generation == generation, state.held == nil else { return state.held ?? loaded }
            (state.held, state.earlier) = (loaded, nil)
            return loaded
        }
    }

    private func reload(_ known: HeldState, _ generation: Int) -> HeldState {
        let loaded = session.loader.load(id).notOlder(than: known)
        let isTaken = state.withLock { state in
            guard state.generation == generation, state.stores == 0 else { return false }
            state.replace(loaded)
            return true
        }
        guard isTaken else { return state.withLock { $0.held } ?? known }
        sendChanges(from: known, to: loaded)
        return loaded
    }

    /// The records that are for this app, all of one snapshot; `nil` if nothing is held.
    func records() -> [RemoteSettingsRecord]? { recordsAndState().records }

    /// Like ``records()``, with the state that they belong to.
    func recordsAndState() -> (records: [RemoteSettingsRecord]?, held: HeldState) {
        let noticed = held()
        if overriding != nil { return (noticed.snapshot.map { filtered($0.records) }, noticed) }
        let (answer, held, generation) = state.withLock { ($0.answer, $0.held, $0.generation) }
        let present = held ?? noticed
        if let answer { return (answer, present) }
        guard let snapshot = present.snapshot else { return (nil, present) }
        let records = filtered(snapshot.records)
        state.withLock { if held != nil, $0.generation == generation { $0.answer = records } }
        return (records, present)
    }

    /// Like ``records()``.
    ///
    /// - Parameter usesPackaged: whether packaged records may be returned. If not, and a packaged state is in use, the
    ///   cached state is read and verified at each call.
    func records(usesPackaged: Bool) -> [RemoteSettingsRecord]? {
        let held = held()
        if usesPackaged || held.source == .cached || overriding != nil { return records() }
        let known = state.withLock { $0.cachedBehindPackaged }
        guard held.cacheIdentity != nil || known != nil else { return nil }
        let found = session.loader.load(id, usesPackaged: false)
        let serving = known.map { found.notOlder(than: $0) } ?? found
        state.withLock { $0.cachedBehindPackaged = serving }
        return serving.snapshot.map { filtered($0.records) }
    }

    /// What is held, for reports.
    var status: SnapshotStatus {
        let held = held()
        var unused = held.unused
        if held.snapshot == nil, case .failure(let error) = session.server {
            unused.append(.init(source: .none, timestamp: nil, reason: .unreadableSource("\(error)")))
        }
        return SnapshotStatus(
            collection: "\(id)", source: held.source, timestamp: held.timestamp,
            age: held.timestamp.map { session.now.elapsed(since: $0) }, records: held.snapshot?.records.count,
            trust: held.snapshot?.provenance, isVerifiedHere: held.isVerifiedHere,
            release: held.isOfRelease ? held.view?.catalogue.number : nil, unused: unused,
            recentFailure: session.failures.standing(id))
    }

    /// Runs a sync's `store`, and then uses what it has stored.
    func storing(_ store: () async throws -> HeldState) async throws -> HeldState {
        state.withLock { $0.stores += 1 }
        defer { state.withLock { $0.stores -= 1 } }
        let stored = try await store()
        state.withLock { $0.replace(stored) }
        return stored
    }

    /// Removes everything that is stored of the collection. Packaged records are then used again.
    func reset() throws {
        let storage = session.storage
        if try FileStore.isDirectory(storage.path) { try session.withFreeStorageLock { try storage.remove(id) } }
        forget()
    }

    /// Makes the next call read again what is held.
    func forget() {
        state.withLock { state in
            state.replace(nil)
            state.next = nil
            (state.earlier, state.cachedBehindPackaged) = (nil, nil)
        }
    }
}

extension LocalCollection {
    /// The records that are for this app.
    private func filtered(_ table: RecordTable) -> [RemoteSettingsRecord] {
        var records: [RemoteSettingsRecord] = []
        records.reserveCapacity(table.count)
        guard table.mayMentionFilters else {
            // The loop is by position, because a loop over the table would call the collection's witnesses for each
            // record.
            for position in 0..<table.count { records.append(RemoteSettingsRecord(table[position])) }
            return records
        }
        var filter = RecordFilter(context: session.filterContext, limits: session.limits.filter)
        for record in table where filter.includes(record) { records.append(RemoteSettingsRecord(record)) }
        return records
    }

    /// Tells listeners what has changed for this app, if anything.
    func sendChanges(from old: HeldState, to new: HeldState) {
        session.changes.sendStore(of: id)
        guard let records = new.snapshot?.records, session.changes.hasListeners(id) else { return }
        var filter = RecordFilter(context: session.filterContext, limits: session.limits.filter)
        let differences = records.differences(from: old.snapshot?.records ?? RecordTable())
        let changes = RecordChanges(differences, current: filtered(records)) { filter.includes($0) }
        if !changes.isEmpty { session.changes.send(changes, of: id) }
    }
}

extension HeldState {
    /// This state, which was read after another process had replaced the cache file; or `known` if that is newer.
    ///
    /// Within a process, a collection only goes forward.
    fileprivate func notOlder(than known: HeldState) -> HeldState {
        guard let before = known.timestamp, timestamp.map({ $0 < before }) ?? true else { return self }
        var kept = known
        kept.cacheIdentity = cacheIdentity
        kept.bundles = bundles
        kept.unused.removeAll { $0.source == .cached }
        kept.unused += unused.filter { $0.source == .cached && $0.reason != .older }
        if source == .cached {
            kept.unused.append(.init(source: .cached, timestamp: timestamp, reason: .older))
        }
        return kept
    }
}
