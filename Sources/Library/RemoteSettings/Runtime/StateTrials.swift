import RemoteSettingsModel
import SnapshotBundle

/// The records of how well the app has started with its states, as used during the current start.
///
/// They are loaded from the index when they are first needed. Changes by other processes take effect only in the next
/// start, so that the states in use do not change in the middle of one.
package final class StateTrials: Sendable {
    /// The states that a trial is about.
    package struct Subject: Hashable, Sendable {
        /// The key of the collection's entry in the index.
        package let key: String
        /// Whether the trial is about the states activated by remote config.
        let isActivated: Bool

        var slot: WritableKeyPath<StorageIndex.Collection, StorageIndex.Slot> {
            isActivated ? \.activated : \.synced
        }
    }

    private struct Known {
        var trial: StateTrial
        /// Whether the current start was counted.
        var isCounted = false
        /// The state that the current start was counted for.
        var served: StateTrial.State?
    }

    private let storage: StorageDirectory
    private let userAgent: String
    private let isOnlooker: Bool
    /// Whether starts are counted and earlier states are kept (``RemoteSettingsConfig/usesSafeStart``).
    package let isSafeStart: Bool
    private let known = Mutex<[Subject: Known]>([:])
    /// A lock that is acquired while a start is counted, so that other first reads wait for the result.
    private let counting = Mutex<Void>(())
    private let asked: Mutex<Bool>
    /// Whether a wait for the storage lock has timed out. There is no second wait, because the waits of the app's first
    /// reads would add up.
    private let isBusy = Mutex(false)
    /// The additional checks by remote configs, by collection.
    private let checks = Mutex<[CollectionID: Check]>([:])

    /// A check that returns the reason to reject a verified state; `nil` to accept it. It throws only
    /// `CancellationError`.
    package typealias Check = @Sendable (Snapshot) async throws -> String?

    /// Creates the records.
    ///
    /// - Parameter config: the configuration that the service is created with.
    init(_ storage: StorageDirectory, _ config: RemoteSettingsConfig) {
        self.storage = storage
        userAgent = "\(config.userAgent) \(config.appContext?.appVersion ?? "")"
        isSafeStart = config.usesSafeStart
        isOnlooker = config.skipsRejected
        asked = Mutex(config.usesSafeStart || isOnlooker)
    }

    func ask() { asked.withLock { $0 = true } }

    /// Adds a check of every state of a collection before it is stored.
    package func addCheck(of id: CollectionID, _ check: @escaping Check) {
        checks.withLock { $0[id] = check }
        ask()
    }

    func check(of id: CollectionID) -> Check? { checks.withLock { $0[id] } }

    /// The identity of the app whose checks reject states: its version, and the modification time of its executable.
    ///
    /// An app with a corrected check has a different executable, even if its version was not changed.
    private var app: String { StateTrial.bounded("\(userAgent) \(Self.program)") }

    private static let program: String = {
        guard let path = FileStore.program, let file = try? FileStore.identity(path) else { return "" }
        return "\(file.seconds).\(file.nanoseconds)"
    }()

    /// Returns the record of how well the app has started with states: the one stored when the app started, plus
    /// changes by this process. The first call does I/O. If synced states are neither checked nor counted, the result
    /// for them is empty.
    package func trial(of subject: Subject) -> StateTrial {
        guard subject.isActivated || asked.withLock({ $0 }) else { return StateTrial() }
        if let known = known.withLock({ $0[subject]?.trial }) { return known }
        var trial = adapted(storage.index()[subject.key][keyPath: subject.slot].trial)
        trial.settle()
        return known.withLock { known in
            if let first = known[subject] { return first.trial }
            known[subject] = Known(trial: trial)
            return trial
        }
    }

    private func adapted(_ trial: StateTrial) -> StateTrial {
        var trial = trial
        if !isOnlooker { trial.adapt(to: app, countsStarts: isSafeStart) }
        return trial
    }

    /// Returns whether the current start was counted.
    package func isCounted(_ subject: Subject) -> Bool { known.withLock { $0[subject]?.isCounted ?? false } }

    /// Counts the current start, before a state is used. Waits at most 20 ms for other processes.
    ///
    /// If this cannot be stored, because the disk is full or another process holds the lock, an unproven state is not
    /// used: otherwise the app could crash with it at every start.
    ///
    /// - Parameter isPackaged: whether the state is packaged. A packaged state is used in any case.
    /// - Returns: whether the state may be used. If not, it is rejected in this process.
    package func countStart(of subject: Subject, serving state: StateTrial.State, isPackaged: Bool) -> Bool {
        counting.withLock { _ in
            isCounted(subject) || countedNow(subject, serving: state, isPackaged: isPackaged)
        }
    }

    private func countedNow(_ subject: Subject, serving state: StateTrial.State, isPackaged: Bool) -> Bool {
        let isGood = trial(of: subject).isGood(state)
        var refusal: StateTrial.Rejection?
        do {
            try write(subject, flushing: false) { trial in
                trial.settle()
                // Another process may have rejected the state in the meantime.
                refusal = isPackaged ? nil : trial.refusal(of: state)
                if refusal == nil { trial.countStart(serving: state) }
            }
        } catch {
            isBusy.withLock { $0 = true }
            if !isGood, !isPackaged {
                refusal = .init(
                    state: state,
                    reason: "an unproven state is not used if the app start cannot be recorded: \(error)")
            }
        }
        known.withLock { known in
            guard let refusal else {
                known[subject]?.served = state
                known[subject]?.isCounted = true
                return
            }
            known[subject]?.trial.reject(state, because: refusal.reason, app: refusal.app)
        }
        return refusal == nil
    }

    /// Makes a rejected state usable again in this process, if there is no other state. The stored rejection stays.
    package func acceptAgain(_ state: StateTrial.State, of subject: Subject) {
        known.withLock { known in
            known[subject]?.trial.acceptAgain(state)
            known[subject]?.isCounted = true
        }
    }

    /// Records that the current start succeeded, for every state that it has used.
    ///
    /// - Throws: an error if one of the records cannot be stored. All others are stored.
    func markStartSuccessful() throws {
        var failure: (any Error)?
        for (subject, known) in known.withLock({ $0 }) {
            guard let served = known.served else { continue }
            do {
                try change(subject) { $0.recordSuccess(of: served) }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Removes the records of a collection whose states were removed.
    func forget(_ id: CollectionID) {
        known.withLock { known in
            let prefix = StorageIndex.key(of: id, in: "")
            known = known.filter { !$0.key.key.hasPrefix(prefix) }
        }
    }

    /// Rejects a state that was in use or was fetched.
    package func reject(
        _ state: StateTrial.State, of subject: Subject, because reason: String, byCheck: Bool = false,
        andTrust good: StateTrial.State? = nil
    ) throws {
        defer { known.withLock { if $0[subject]?.served == state { $0[subject]?.served = nil } } }
        try change(subject) { trial in
            trial.reject(state, because: reason, app: byCheck ? app : nil)
            if let good {
                trial.acceptAgain(good)
                trial.recordGood(good)
            }
        }
    }

    /// Changes a record, in this process and in the index.
    ///
    /// - Throws: an error if the index cannot be written. The change is still effective in this process.
    package func change(_ subject: Subject, _ change: (inout StateTrial) -> Void) throws {
        _ = trial(of: subject)
        known.withLock { known in
            guard var new = known[subject] else { return }
            change(&new.trial)
            known[subject] = new
        }
        try write(subject, flushing: true, change)
    }

    private func write(_ subject: Subject, flushing: Bool, _ change: (inout StateTrial) -> Void) throws {
        let waiting: StorageDirectory.Waiting =
            flushing ? .long : isBusy.withLock { $0 } ? .no : .briefly
        let (_, problem) = try storage.update(waiting: waiting, flushing: flushing) { index in
            var trial = adapted(index[subject.key][keyPath: subject.slot].trial)
            change(&trial)
            index[subject.key][keyPath: subject.slot].trial = trial
        }
        if let problem { throw problem }
        isBusy.withLock { $0 = false }
    }

    /// Returns whether the replaced state becomes the one to roll back to. It does if it is good, or if there is no
    /// good one yet.
    ///
    /// - Parameters:
    ///   - old: the state that is being replaced.
    ///   - kept: the state that is currently kept for a rollback; `nil` if there is none.
    package func keeps(_ old: StoredState, of subject: Subject, before kept: StoredState?) -> Bool {
        let trial = trial(of: subject)
        if trial.isGood(old.state) { return true }
        if trial.refusal(of: old.state) != nil { return false }
        return kept.map { !trial.isGood($0.state) } ?? true
    }
}
