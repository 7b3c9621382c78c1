import RemoteSettingsModel
import SnapshotBundle

/// What this start of the app knows of how all its states have fared.
///
/// The index has it for the next start. What other processes learn meanwhile is for the next start too, so that nothing
/// changes in the middle of one.
package final class StateTrials: Sendable {
    /// Whose trial it is.
    package struct Subject: Hashable, Sendable {
        /// The collection's entry in the index.
        package let key: String
        /// Whether it is of what remote config has activated.
        let isActivated: Bool

        var slot: WritableKeyPath<StorageIndex.Collection, StorageIndex.Slot> {
            isActivated ? \.activated : \.synced
        }
    }

    private struct Known {
        var trial: StateTrial
        /// Whether this start was counted.
        var isCounted = false
        /// The state that was counted.
        var served: StateTrial.State?
    }

    private let storage: StorageDirectory
    private let userAgent: String
    private let isOnlooker: Bool
    /// Whether starts are counted and earlier states kept: ``RemoteSettingsConfig/safeStart``.
    package let isSafeStart: Bool
    private let known = Mutex<[Subject: Known]>([:])
    /// Held while a start is counted: other first reads wait for what comes of it.
    private let counting = Mutex<Void>(())
    private let asked: Atomic<Bool>
    /// Whether the lock was waited for in vain. It is not waited for again: the app's first reads would add it up.
    private let isBusy = Atomic(false)
    /// What remote configs ask of the states of their collections.
    private let checks = Mutex<[CollectionID: Check]>([:])

    /// Why a verified state is refused; `nil` if it is not. Throws `CancellationError`.
    package typealias Check = @Sendable (Snapshot) async throws -> String?

    /// - Parameter config: the configuration that the service is made with.
    init(_ storage: StorageDirectory, _ config: RemoteSettingsConfig) {
        self.storage = storage
        userAgent = "\(config.userAgent) \(config.appContext?.appVersion ?? "")"
        isSafeStart = config.safeStart
        isOnlooker = config.passesOverSetAside
        asked = Atomic(config.safeStart || isOnlooker)
    }

    func ask() { asked.store(true, ordering: .relaxed) }

    /// Has every state of a collection checked before it is stored.
    package func addCheck(of id: CollectionID, _ check: @escaping Check) {
        checks.withLock { $0[id] = check }
        ask()
    }

    func check(of id: CollectionID) -> Check? { checks.withLock { $0[id] } }

    /// The version of the app whose check decides: its version, and the file of its program.
    ///
    /// An app that corrects its check is another program, even if it forgets to change its version.
    private var app: String { StateTrial.bounded("\(userAgent) \(Self.program)") }

    private static let program: String = {
        #if os(Linux)
        let name = "/proc/self/exe"
        #else
        let name = CommandLine.arguments.first ?? ""
        #endif
        guard let path = try? FileStore.resolved(name), let file = try? FileStore.identity(path) else { return "" }
        return "\(file.seconds).\(file.nanoseconds)"
    }()

    /// How states have fared: what was stored when the app started, and what this process has learned since. The first
    /// call does I/O. As long as nothing checks synced states or counts starts, nothing is known of them.
    package func trial(of subject: Subject) -> StateTrial {
        guard subject.isActivated || asked.load(ordering: .relaxed) else { return StateTrial() }
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

    /// Whether the current start was counted.
    package func isCounted(_ subject: Subject) -> Bool { known.withLock { $0[subject]?.isCounted ?? false } }

    /// Counts the current start, before a state is served. Waits at most 20 ms for other processes.
    ///
    /// A state that is on trial is not served if that cannot be noted, because the disk is full or another process
    /// holds the lock: the app could die of it at every start.
    ///
    /// - Parameter isPackaged: whether the state is packaged. It is served in any case.
    /// - Returns: whether the state may be served. If not, it is set aside in this process.
    package func countStart(of subject: Subject, serving state: StateTrial.State, isPackaged: Bool) -> Bool {
        counting.withLock { _ in
            isCounted(subject) || countedNow(subject, serving: state, isPackaged: isPackaged)
        }
    }

    private func countedNow(_ subject: Subject, serving state: StateTrial.State, isPackaged: Bool) -> Bool {
        let isGood = trial(of: subject).isGood(state)
        var refusal: StateTrial.SetAside?
        do {
            try write(subject, flushing: false) { trial in
                trial.settle()
                // Another process may have set it aside meanwhile.
                refusal = isPackaged ? nil : trial.refusal(of: state)
                if refusal == nil { trial.countStart(serving: state) }
            }
        } catch {
            isBusy.store(true, ordering: .relaxed)
            if !isGood, !isPackaged {
                refusal = .init(state: state, reason: "the number of starts with it cannot be stored: \(error)")
            }
        }
        known.withLock { known in
            guard let refusal else {
                known[subject]?.served = state
                known[subject]?.isCounted = true
                return
            }
            known[subject]?.trial.setAside(state, because: refusal.reason, app: refusal.app)
        }
        return refusal == nil
    }

    /// Serves a state after all, because there is no other.
    package func readmit(_ state: StateTrial.State, of subject: Subject) {
        known.withLock { known in
            known[subject]?.trial.readmit(state)
            known[subject]?.isCounted = true
        }
    }

    /// Notes that the current start got well, with every state that it has served.
    ///
    /// - Throws: if a note cannot be stored. The others are.
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

    /// Forgets what is known of a collection whose states were removed.
    func forget(_ id: CollectionID) {
        known.withLock { known in
            let prefix = StorageIndex.key(of: id, in: "")
            known = known.filter { !$0.key.key.hasPrefix(prefix) }
        }
    }

    /// Sets aside a state that was served or fetched.
    package func setAside(
        _ state: StateTrial.State, of subject: Subject, because reason: String, byCheck: Bool = false,
        andTrust good: StateTrial.State? = nil
    ) throws {
        defer { known.withLock { if $0[subject]?.served == state { $0[subject]?.served = nil } } }
        try change(subject) { trial in
            trial.setAside(state, because: reason, app: byCheck ? app : nil)
            if let good {
                trial.readmit(good)
                trial.recordGood(good)
            }
        }
    }

    /// Changes what is known, here and in the index.
    ///
    /// - Throws: if the index cannot be written. This process still knows it.
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
            flushing ? .long : isBusy.load(ordering: .relaxed) ? .no : .briefly
        let (_, problem) = try storage.update(waiting: waiting, flushing: flushing) { index in
            var trial = adapted(index[subject.key][keyPath: subject.slot].trial)
            change(&trial)
            index[subject.key][keyPath: subject.slot].trial = trial
        }
        if let problem { throw problem }
        isBusy.store(false, ordering: .relaxed)
    }

    /// Whether the state that a newer one replaces becomes the one to go back to: if it is good, or as long as there is
    /// no good one.
    ///
    /// - Parameters:
    ///   - old: the state that is replaced.
    ///   - kept: the state that is kept so far; `nil` if there is none.
    package func keeps(_ old: StoredState, of subject: Subject, before kept: StoredState?) -> Bool {
        let trial = trial(of: subject)
        if trial.isGood(old.state) { return true }
        if trial.refusal(of: old.state) != nil { return false }
        return kept.map { !trial.isGood($0.state) } ?? true
    }
}
