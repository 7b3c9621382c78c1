import RemoteSettingsModel
import SnapshotBundle
import TargetFilter

/// One collection in one session, shared by all its clients: the snapshot in use, and its records for this app.
///
/// | Stored | Packaged | State in use |
/// |---|---|---|
/// | a state | an older state, a refused one, or none | the stored one |
/// | a signed state | the same state, in a source as trusted as the program | the packaged one, without verification |
/// | a state | a newer state | the packaged one |
/// | a damaged, lost or untrusted state | any | the newer of the packaged and the previous stored one |
/// | a state of a different server | any | the packaged one |
/// | a state | an imported state, or one of a different server | the stored one, regardless of their timestamps |
/// | any | an unsigned state, while a signed one is known | the stored one |
/// | none | no usable state | none: `records` is `nil`, and ``status`` gives the reason |
///
/// With an override, the overriding file is used.
///
/// Within a process, a collection never goes back: if another process has stored an older state, the current one
/// remains in use. A rejected state is skipped; see ``StateTrial`` for its replacement.
///
/// No lock is held while a file is checked, read or verified.
package final class LocalCollection: Sendable {
    private struct State {
        /// The state in use. The collection never returns to an earlier one.
        var known: CurrentState?
        /// Whether the state was found under an earlier configuration with the same trust, so that it must be searched
        /// for again.
        var isOutdated = false
        var answer: [RemoteSettingsRecord]?
        /// ``answer``, decoded.
        var decoded = DecodedRecords()
        /// The number of records that the last read omitted because of ``FilterLimits/readSteps``.
        var unevaluated = 0
        /// A number that increases whenever a different state comes into use, so that results computed from an older
        /// state are discarded.
        var generation = 0

        mutating func replace(_ current: CurrentState?) {
            (known, isOutdated) = (current, false)
            filterAgain()
        }

        mutating func filterAgain() {
            (answer, decoded, unevaluated) = (nil, DecodedRecords(), 0)
            generation += 1
        }
    }

    package let id: CollectionID
    package let session: Session
    /// The key of the collection's entry in the index.
    let key: String
    /// The overriding file that was found when the collection was first used; the outer optional is `nil` before that.
    private let override = Mutex<OverridingFile??>(nil)
    private let state = Mutex(State())
    private let observed: ObservedState

    /// Creates a collection.
    ///
    /// - Parameter earlier: the same collection under the previous configuration with the same trust.
    init(_ id: CollectionID, _ session: Session, after earlier: LocalCollection? = nil) {
        self.id = id
        self.session = session
        key = session.key(of: id)
        observed = session.changes.observed(id)
        let served = earlier?.state.withLock { $0.known?.source == .cached ? $0.known : nil }
        if let served { state.withLock { ($0.known, $0.isOutdated) = (served, true) } }
    }

    /// The local file that replaces the collection; `nil` if there is none. The first access does I/O if an override is
    /// a directory.
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

    /// Returns the state whose records are in use: the newest trusted one.
    ///
    /// The first call in a process reads and verifies it, and so does the first call after another process has stored a
    /// different state, which is detected with one `lstat` of the index. Two concurrent calls may both do this.
    package func current() -> CurrentState {
        observed.willRead()
        if let overriding { return current(overriding) }
        let slot = session.storage.index()[key].synced
        let (known, isOutdated, generation) = state.withLock { ($0.known, $0.isOutdated, $0.generation) }
        if let known, !isOutdated, known.slot.hasSameStates(as: slot) { return known }
        var found = load(slot)
        if let known { found = found.notOlder(than: known) }
        let isTaken = state.withLock { state in
            guard state.generation == generation else { return false }
            state.replace(found)
            return true
        }
        guard isTaken else { return state.withLock { $0.known } ?? found }
        if let known, !isOutdated { sendChanges(from: known, to: found) }
        return found
    }

    /// Reads and verifies the state. If a file is missing because another process has stored a newer state, the newer
    /// one is read.
    private func load(_ slot: StorageIndex.Slot) -> CurrentState {
        var (slot, tries) = (slot, 3)
        while true {
            let found = session.choice.choose(id, from: slot, asking: trial)
            let now = session.storage.index()[key].synced
            tries -= 1
            if tries == 0 || now.hasSameStates(as: slot) {
                recordRefusal(found)
                return found
            }
            slot = now
        }
    }

    /// Records that this read has refused the stored state, so that the next sync, in any process, does not count it as
    /// stored.
    private func recordRefusal(_ found: CurrentState) {
        guard let stored = found.refused, describesOwn(stored), session.storage.index()[key].refused != stored.file
        else { return }
        // If this cannot be written, it is effective in this process.
        _ = try? session.storage.update(waiting: .briefly, flushing: false) { index in
            if index[key].synced.current == stored { index[key].refused = stored.file }
        }
    }

    /// The record of how well the app has started with the synced states.
    var trial: StateTrial { session.trials.trial(of: subject) }

    package var subject: StateTrials.Subject { .init(key: key, isActivated: false) }

    /// Whether the state has been read at least once.
    var hasRead: Bool { state.withLock { $0.known != nil } }

    private func current(_ overriding: OverridingFile) -> CurrentState {
        let (current, before) = overriding.current()
        if let before { sendChanges(from: before, to: current) }
        return current
    }

    /// Returns the records that match the app's context, all of one snapshot; `nil` if there is no local state.
    func records() -> [RemoteSettingsRecord]? { recordsAndState().records }

    /// The records of the state in use, as far as they have been decoded.
    var decoded: DecodedRecords { state.withLock { $0.decoded } }

    /// Returns the state to use, after counting this start of the app if ``RemoteSettingsConfig/usesSafeStart`` is set.
    private func counted(_ current: CurrentState) -> CurrentState {
        let trials = session.trials
        guard trials.isSafeStart, overriding == nil, let snapshot = current.snapshot else { return current }
        if trials.isCounted(subject) { return current }
        let state = StateTrial.State(snapshot)
        if trials.countStart(of: subject, serving: state, isPackaged: current.source != .cached) { return current }
        forget()
        let other = counted(self.current())
        if other.snapshot != nil { return other }
        trials.acceptAgain(state, of: subject)
        forget()
        return self.current()
    }

    /// Rejects the current state and replaces it from now on. Does I/O.
    ///
    /// - Parameter toPrevious: whether to require the immediately preceding state as the replacement.
    func leaveState(because reason: String, toPrevious: Bool) throws(RemoteSettingsError) {
        let current = self.current()
        let trials = session.trials
        guard trials.isSafeStart else { throw .safeStartIsOff }
        guard overriding == nil, let snapshot = current.snapshot else {
            throw .notFound(reason: "\(id): there is no synced or packaged state to reject")
        }
        let previous = session.previous(of: id, isKnownSigned: current.isKnownSigned).map { StateTrial.State($0) }
        let state = StateTrial.State(snapshot)
        guard !toPrevious || previous != nil && previous != state else { throw .nothingToGoBackTo("\(id)") }
        let result = Result {
            try trials.reject(state, of: subject, because: reason, andTrust: toPrevious ? previous : nil)
        }
        forget()
        sendChanges(from: current, to: self.current())
        if case .failure(let error) = result { throw RemoteSettingsError(error) }
    }

    /// Returns the same records as ``records()``, with the state that they belong to.
    func recordsAndState() -> (records: [RemoteSettingsRecord]?, current: CurrentState) {
        let noticed = counted(current())
        if overriding != nil { return (noticed.snapshot.map { filtered($0.records) }, noticed) }
        let (answer, current, generation) = state.withLock { ($0.answer, $0.known, $0.generation) }
        let present = current ?? noticed
        if let answer { return (answer, present) }
        guard let snapshot = present.snapshot else { return (nil, present) }
        let records = filtered(snapshot.records)
        state.withLock { if current != nil, $0.generation == generation { $0.answer = records } }
        return (records, present)
    }

    /// Returns the records that match the app's context; `nil` if there is no usable state.
    ///
    /// - Parameter usesPackaged: whether packaged records may be returned. If it is `false` and a packaged state is in
    ///   use, each call reads and verifies the cached state.
    func records(usesPackaged: Bool) -> [RemoteSettingsRecord]? {
        let current = counted(self.current())
        if usesPackaged || current.source == .cached || overriding != nil { return records() }
        guard current.slot.current != nil else { return nil }
        return session.choice.choose(id, from: current.slot, usesPackaged: false, asking: trial).snapshot
            .map { filtered($0.records) }
    }

    /// The current status, for reports.
    var status: CollectionStatus {
        let current = self.current()
        var unused = current.unused
        if current.snapshot == nil, case .failure(let error) = session.server {
            unused.append(.init(source: .noSnapshot, timestamp: nil, reason: .unreadableSource("\(error)")))
        }
        // Add the rejected states that are newer than the current one and were not stored.
        for aside in trial.rejected where current.timestamp.map({ $0 < aside.state.timestamp }) ?? true {
            guard !unused.contains(where: { $0.timestamp == aside.state.timestamp }) else { continue }
            unused.append(
                .init(source: .noSnapshot, timestamp: aside.state.timestamp, reason: .failedInApp(aside.reason)))
        }
        return CollectionStatus(
            collection: "\(id)", source: current.source, timestamp: current.timestamp,
            age: current.timestamp.map { session.now.elapsed(since: $0) }, recordCount: current.snapshot?.records.count,
            provenance: current.snapshot?.provenance, isVerifiedOnDevice: current.isVerifiedOnDevice,
            unused: unused, recentFailure: session.failures.standing(id),
            unevaluatedRecords: state.withLock { $0.unevaluated })
    }

    /// Uses a state that a sync has stored, and notifies listeners.
    func use(_ stored: CurrentState) {
        let before = state.withLock { state in
            defer { state.replace(stored) }
            return state.known
        }
        sendChanges(from: before ?? CurrentState(), to: stored)
    }

    /// Removes all stored data of the collection. Packaged records are then used again.
    func reset() throws {
        let storage = session.storage
        if try FileStore.isDirectory(storage.path) {
            try storage.prepare()
            let (_, problem) = try storage.update(waiting: .no) { $0.remove(id) }
            if let problem { throw problem }
            try storage.removeOwnFiles(in: storage.attachmentsPath(id), levels: 0)
        }
        session.trials.forget(id)
        forget()
    }

    /// Discards the known state, so that the next call reads it again.
    func forget() { observed.change { state.withLock { $0.replace(nil) } } }
}

extension LocalCollection {
    /// Returns the records of a table that match the app's context.
    func filtered(_ table: RecordTable) -> [RemoteSettingsRecord] {
        var records: [RemoteSettingsRecord] = []
        records.reserveCapacity(table.count)
        guard table.mayMentionFilters else {
            // Iterating over positions is faster: a `for` loop over the table would call the collection's witness
            // methods for each record.
            for position in 0..<table.count { records.append(RemoteSettingsRecord(table[position])) }
            return records
        }
        var filter = RecordFilter(context: session.filterContext)
        for record in table where filter.includes(record) { records.append(RemoteSettingsRecord(record)) }
        state.withLock { $0.unevaluated = filter.unevaluated }
        return records
    }

    /// Notifies listeners of the changes that are visible to this app, if any.
    func sendChanges(from old: CurrentState, to new: CurrentState) {
        observed.change {}
        session.changes.sendStore(of: id)
        guard let records = new.snapshot?.records, session.changes.hasListeners(id) else { return }
        var filter = RecordFilter(context: session.filterContext)
        let differences = records.differences(from: old.snapshot?.records ?? RecordTable())
        let changes = RecordChanges(differences, current: filtered(records)) { filter.includes($0) }
        if !changes.isEmpty { session.changes.send(changes, of: id) }
    }

    /// Filters the records anew after a change of the app's context, and notifies listeners of those that it has added
    /// or removed. Does I/O like a read if there are listeners.
    func sendChanges(ofContextAfter old: FilterContext) {
        observed.change { state.withLock { $0.filterAgain() } }
        guard session.changes.hasListeners(id), let table = current().snapshot?.records else { return }
        var before = RecordFilter(context: old)
        var after = RecordFilter(context: session.filterContext)
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
    /// Returns this state, which was read after another process had stored a different one, or `known` if that is
    /// newer.
    ///
    /// Within a process, a collection never goes back to an older state.
    fileprivate func notOlder(than known: CurrentState) -> CurrentState {
        guard known.snapshot != nil else { return self }
        switch standing.map(known.succession) {
        case nil, .keep(.older), .keep(.signatureLost), .keep(.otherServer): break
        default: return self
        }
        var kept = known
        (kept.slot, kept.bundles) = (slot, bundles)
        kept.unused.removeAll { $0.source == .cached }
        kept.unused += unused.filter { $0.source == .cached && $0.reason != .older }
        if source == .cached {
            kept.unused.append(.init(source: .cached, timestamp: timestamp, reason: .older))
        }
        return kept
    }
}
