import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust
import TargetFilter

/// One collection under one session, for all its clients: the snapshot that is served, and its records for this app.
///
/// | Stored | Packaged | Served |
/// |---|---|---|
/// | a state | older, refused or none | the stored one |
/// | a signed state | the same, in a source as trusted as the program | the packaged one, which nothing has to verify |
/// | a state | newer | the packaged one |
/// | damaged, or of no pinned root | any | the packaged one; the file is set aside, and the next sync fetches all |
/// | of another server, or of a later format | any | the packaged one; the file stays as it is |
/// | any | unsigned, where a signed state is known | the stored one |
/// | none | none that can be used | none: `getRecords` is nil, and ``status`` says why |
///
/// With a catalogue it is the state that the catalogue lists, wherever that is; the table holds for collections that it
/// does not list, and for states that are not here. With an override it is the overriding file's.
///
/// Within a process, a collection never goes back: if what another process has stored is older, the known state stays.
/// With a trial, it is not a state that is set aside: ``StateTrial`` says what has its place.
/// No lock is held while a file is looked at, read or verified.
final class LocalCollection: Sendable {
    private struct State {
        var current: CurrentState?
        var answer: [RemoteSettingsRecord]?
        /// Grows whenever another state replaces `current`, so that nothing computed from an older state is kept.
        var generation = 0
        /// The state in use under an earlier configuration that trusts the same. The collection does not go back behind
        /// it.
        var earlier: CurrentState?
        /// The last cached state that was read while a packaged one is in use. The collection does not go back behind
        /// it.
        var cachedBehindPackaged: CurrentState?
        /// The state that comes into use as soon as the session shows its catalogue.
        var next: CurrentState?
        /// Stores by this process that are under way. The files that they replace need not be read again.
        var stores = 0

        mutating func replace(_ current: CurrentState?) {
            self.current = current
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
        let served = earlier?.state.withLock { $0.current?.source == .cached ? $0.current : $0.earlier }
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

    /// The state whose records are served: the newest that can be trusted.
    ///
    /// The first call in a process reads and verifies. So does the first call after another process has replaced the
    /// cache file, which one `lstat` shows. Two concurrent calls may both do it.
    func current() -> CurrentState {
        if let overriding { return current(overriding) }
        if id != Catalogue.collection, let catalogue = session.currentCatalogue() { return current(in: catalogue) }
        let (known, generation, isStoring) = state.withLock { ($0.current, $0.generation, $0.stores > 0) }
        guard let known else { return load(generation) }
        return isStoring || isUnchanged(known) ? known : reload(known, generation)
    }

    private func current(_ overriding: OverridingFile) -> CurrentState {
        let (current, before) = overriding.current()
        if let before { sendChanges(from: before, to: current) }
        return current
    }

    /// The state that a catalogue lists; the newest one if it lists none, or if its state is not here.
    ///
    /// A state of the catalogue needs no look at its file. Its bytes are those that the catalogue lists, whatever
    /// happens to the file.
    private func current(in catalogue: CatalogueView) -> CurrentState {
        let (known, next, generation) = state.withLock { ($0.current, $0.next, $0.generation) }
        let prepared = next?.view === catalogue ? next : nil
        if let known, known.view === catalogue, known.isOfCatalogue || prepared == nil && isUnchanged(known) {
            return known
        }
        var found = prepared ?? session.loader.load(id, of: catalogue)
        if !found.isOfCatalogue, prepared == nil {
            // A refresh or another process may have stored a later catalogue, and this state with it.
            if catalogue.catalogue.entries[id] != nil { session.lookAgain(after: catalogue) }
            if let later = session.currentCatalogue(), later !== catalogue { return current(in: later) }
            if let earlier = known ?? state.withLock({ $0.earlier }) {
                found = found.notOlder(than: earlier).placed(in: catalogue, of: id)
            }
        }
        let isTaken = state.withLock { state in
            guard state.generation == generation else { return false }
            state.replace(found)
            state.earlier = nil
            return true
        }
        guard isTaken else { return state.withLock { $0.current } ?? found }
        if let known, known.snapshot?.payload != found.snapshot?.payload { sendChanges(from: known, to: found) }
        return found
    }

    private func isUnchanged(_ known: CurrentState) -> Bool {
        (try? FileStore.identity(cachePath)) == known.cacheIdentity
    }

    /// The first read.
    private func load(_ generation: Int) -> CurrentState {
        let found = session.loader.load(id)
        let loaded = state.withLock { $0.earlier }.map { found.notOlder(than: $0) } ?? found
        return state.withLock { state in
            guard state.generation == generation, state.current == nil else { return state.current ?? loaded }
            (state.current, state.earlier) = (loaded, nil)
            return loaded
        }
    }

    /// A read after another process has replaced the cache file.
    private func reload(_ known: CurrentState, _ generation: Int) -> CurrentState {
        let loaded = session.loader.load(id).notOlder(than: known)
        let isTaken = state.withLock { state in
            guard state.generation == generation, state.stores == 0 else { return false }
            state.replace(loaded)
            return true
        }
        guard isTaken else { return state.withLock { $0.current } ?? known }
        sendChanges(from: known, to: loaded)
        return loaded
    }

    /// Whether nothing has been read yet, and the cache file says that it is the server's state of this timestamp.
    ///
    /// Nothing is verified. A state that is already in use is asked with ``current()``, which shows another process's
    /// stores to listeners as well.
    func storedState(isOf timestamp: Timestamp) -> Bool {
        guard overriding == nil, session.publisher == nil, !session.changes.isFollowed(id),
            state.withLock({ $0.current == nil && $0.earlier == nil })
        else { return false }
        return session.loader.storedState(of: id, isOf: timestamp)
    }

    /// Keeps a state ready for the moment at which the session shows its catalogue.
    func prepare(_ next: CurrentState) { state.withLock { $0.next = next } }

    /// The records that are for this app, all of one snapshot; `nil` if nothing is held.
    func records() -> [RemoteSettingsRecord]? { recordsAndState().records }

    /// The state to serve, after this start was counted if the configuration asks for it.
    private func counted(_ current: CurrentState) -> CurrentState {
        guard let trials = session.trials, trials.isSafeStart, overriding == nil, let snapshot = current.snapshot
        else { return current }
        let subject = session.storage.trial(of: current.view == nil ? id : Catalogue.collection)
        if trials.isCounted(subject) { return current }
        let state = StateTrial.State(current.view?.snapshot ?? snapshot)
        let isPackaged = (current.view?.source ?? current.source) != .cached
        if trials.countStart(of: subject, serving: state, isPackaged: isPackaged) { return current }
        forgetWithCatalogue()
        let other = counted(self.current())
        if other.snapshot != nil { return other }
        trials.readmit(state, of: subject)
        forgetWithCatalogue()
        return self.current()
    }

    /// Sets the state in use aside, and serves another one from now on. Does I/O.
    ///
    /// - Parameter toPrevious: whether it has to be the one before.
    func leaveState(because reason: String, toPrevious: Bool) throws(RemoteSettingsError) {
        let current = self.current()
        let unit = current.view == nil ? id : Catalogue.collection
        let subject = session.storage.trial(of: unit)
        guard let trials = session.trials, trials.isSafeStart else { throw .safeStartIsOff }
        guard overriding == nil, let snapshot = current.view?.snapshot ?? current.snapshot else {
            throw .notHeld(reason: "\(id): expected a state in use that syncs or the package have brought, found none")
        }
        let previous = session.loader.previousSnapshot(unit, isKnownSigned: current.isKnownSigned)
            .map { StateTrial.State($0) }
        let state = StateTrial.State(snapshot)
        guard !toPrevious || previous != nil && previous != state else { throw .nothingToGoBackTo("\(unit)") }
        let result = Result {
            try trials.setAside(state, of: subject, because: reason, andTrust: toPrevious ? previous : nil)
        }
        forgetWithCatalogue()
        sendChanges(from: current, to: self.current())
        if case .failure(let error) = result { throw RemoteSettingsError(error) }
    }

    private func forgetWithCatalogue() {
        if session.publisher == nil { forget() } else { session.service?.forgetCollections() }
    }

    /// Like ``records()``, with the state that they belong to.
    func recordsAndState() -> (records: [RemoteSettingsRecord]?, current: CurrentState) {
        let noticed = counted(current())
        if overriding != nil { return (noticed.snapshot.map { filtered($0.records) }, noticed) }
        let (answer, current, generation) = state.withLock { ($0.answer, $0.current, $0.generation) }
        let present = current ?? noticed
        if let answer { return (answer, present) }
        guard let snapshot = present.snapshot else { return (nil, present) }
        let records = filtered(snapshot.records)
        state.withLock { if current != nil, $0.generation == generation { $0.answer = records } }
        return (records, present)
    }

    /// Like ``records()``.
    ///
    /// - Parameter usesPackaged: whether packaged records may be returned. If not, and a packaged state is in use, the
    ///   cached state is read and verified at each call.
    func records(usesPackaged: Bool) -> [RemoteSettingsRecord]? {
        let current = counted(self.current())
        if usesPackaged || current.source == .cached || overriding != nil { return records() }
        let known = state.withLock { $0.cachedBehindPackaged }
        guard current.cacheIdentity != nil || known != nil else { return nil }
        let found = session.loader.load(id, usesPackaged: false)
        let serving = known.map { found.notOlder(than: $0) } ?? found
        state.withLock { $0.cachedBehindPackaged = serving }
        return serving.snapshot.map { filtered($0.records) }
    }

    /// What is held, for reports.
    var status: SnapshotStatus {
        let current = self.current()
        var rejected = current.rejected
        if current.snapshot == nil, case .failure(let error) = session.server {
            rejected.append(.init(source: .notHeld, timestamp: nil, reason: .unreadableSource("\(error)")))
        }
        for trial in session.trials.map({ trials in
            (current.view == nil ? [id] : [id, Catalogue.collection])
                .map { trials.trial(of: session.storage.trial(of: $0)) }
        }) ?? [] {
            // Those that are newer than what is served, and not stored.
            for aside in trial.setAside where current.timestamp.map({ $0 < aside.state.timestamp }) ?? true {
                guard !rejected.contains(where: { $0.timestamp == aside.state.timestamp }) else { continue }
                rejected.append(
                    .init(source: .notHeld, timestamp: aside.state.timestamp, reason: .setAside(aside.reason)))
            }
        }
        return SnapshotStatus(
            collection: "\(id)", source: current.source, timestamp: current.timestamp,
            age: current.timestamp.map { session.now.elapsed(since: $0) }, records: current.snapshot?.records.count,
            provenance: current.snapshot?.provenance, isVerifiedOnDevice: current.isVerifiedOnDevice,
            catalogue: current.isOfCatalogue ? current.view?.catalogue.number : nil, rejected: rejected,
            recentFailure: session.failures.standing(id))
    }

    /// Runs a sync's `store`, and then uses what it has stored.
    func storing(_ store: () async throws -> CurrentState) async throws -> CurrentState {
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
        session.allTrials.forget(id)
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
    func filtered(_ table: RecordTable) -> [RemoteSettingsRecord] {
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
    func sendChanges(from old: CurrentState, to new: CurrentState) {
        session.changes.sendStore(of: id)
        guard let records = new.snapshot?.records, session.changes.hasListeners(id) else { return }
        var filter = RecordFilter(context: session.filterContext, limits: session.limits.filter)
        let differences = records.differences(from: old.snapshot?.records ?? RecordTable())
        let changes = RecordChanges(differences, current: filtered(records)) { filter.includes($0) }
        if !changes.isEmpty { session.changes.send(changes, of: id) }
    }
}

extension LocalCollection {
    /// Tells listeners which records are for this app now that were not under an earlier context, and the other way
    /// round. Does I/O as a read does.
    func sendChanges(ofContextAfter old: FilterContext) {
        guard let table = current().snapshot?.records else { return }
        var before = RecordFilter(context: old, limits: session.limits.filter)
        var after = RecordFilter(context: session.filterContext, limits: session.limits.filter)
        var changes = RecordChanges([], current: filtered(table)) { _ in true }
        for record in table {
            switch (before.includes(record), after.includes(record)) {
            case (false, true): changes.created.append(RemoteSettingsRecord(record))
            case (true, false): changes.deleted.append(RemoteSettingsRecord(record))
            default: break
            }
        }
        if !changes.isEmpty { session.changes.send(changes, of: id) }
    }
}

extension CurrentState {
    /// This state, which was read after another process had replaced the cache file; or `known` if that is newer.
    ///
    /// Within a process, a collection only goes forward.
    fileprivate func notOlder(than known: CurrentState) -> CurrentState {
        guard let before = known.timestamp, timestamp.map({ $0 < before }) ?? true else { return self }
        var kept = known
        kept.cacheIdentity = cacheIdentity
        kept.bundles = bundles
        kept.rejected.removeAll { $0.source == .cached }
        kept.rejected += rejected.filter { $0.source == .cached && $0.reason != .older }
        if source == .cached {
            kept.rejected.append(.init(source: .cached, timestamp: timestamp, reason: .older))
        }
        return kept
    }

    /// This state while a catalogue is in use, which may list it.
    func placed(in catalogue: CatalogueView, of id: CollectionID) -> CurrentState {
        var placed = self
        placed.view = catalogue
        placed.isOfCatalogue = snapshot.map { catalogue.catalogue.lists($0.payload, of: id) } ?? false
        return placed
    }
}
