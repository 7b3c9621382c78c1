import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// What a service knows of the trials of all its states, each kept in a small file beside the states that it is about.
///
/// A file is read once in a process, and replaced under the storage lock. One that is damaged counts as empty.
package final class StateTrials: Sendable {
    /// Whose trial it is.
    package struct Subject: Hashable, Sendable {
        package let path: String
        /// The file of the state to go back to.
        package let previousPath: String
        /// The directory below which both are.
        let root: String
    }

    private struct Known {
        var trial: StateTrial
        /// Whether this start was counted.
        var isCounted = false
        /// The state that was counted.
        var served: StateTrial.State?
    }

    private let storage: StorageDirectory
    private let limits: Limits
    /// The version of the app whose check decides.
    private let app: String
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
        limits = config.limits.all
        app = StateTrial.bounded("\(config.userAgent) \(config.appContext?.appVersion ?? "")")
        isSafeStart = config.safeStart
        isOnlooker = config.passesOverSetAside
        asked = Atomic(config.safeStart || isOnlooker)
    }

    /// Whether anything checks states or counts starts. If nothing does, no file is looked at.
    var isAsked: Bool { asked.load(ordering: .relaxed) }

    func ask() { asked.store(true, ordering: .relaxed) }

    /// Has every state of a collection checked before it is stored.
    package func addCheck(of id: CollectionID, _ check: @escaping Check) {
        checks.withLock { $0[id] = check }
        ask()
    }

    func check(of id: CollectionID) -> Check? { checks.withLock { $0[id] } }

    /// How states have fared: what was stored when the app started, and what this process has learned since. The first
    /// call does I/O.
    package func trial(of subject: Subject) -> StateTrial {
        if let known = known.withLock({ $0[subject]?.trial }) { return known }
        var trial = (try? read(subject)) ?? StateTrial()
        trial.settle()
        return known.withLock { known in
            if let first = known[subject] { return first.trial }
            known[subject] = Known(trial: trial)
            return trial
        }
    }

    private func read(_ subject: Subject) throws(FileError) -> StateTrial {
        var trial = StateTrial()
        do throws(FileError) {
            guard let content = try FileStore.read(subject.path, limit: StateTrial.mostBytes) else { return trial }
            trial = StateTrial(parsing: content, limits: limits)
        } catch {
            // Something else that somebody has put there is replaced.
            if !error.isTooLarge, case .file? = try FileStore.kind(subject.path) { throw error }
        }
        if !isOnlooker { trial.adapt(to: app, countsStarts: isSafeStart) }
        return trial
    }

    /// Whether the current start was counted.
    package func isCounted(_ subject: Subject) -> Bool { known.withLock { $0[subject]?.isCounted ?? false } }

    /// Counts the current start, before a state is served.
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
                refusal = .init(state: state, reason: "this start with it cannot be counted: \(error)")
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

    /// Forgets what is known of a collection whose files were removed.
    func forget(_ id: CollectionID) {
        let beginning = storage.trialPath(id).dropLast("trial".utf8.count)
        known.withLock { known in known = known.filter { !$0.key.path.hasPrefix(beginning) } }
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

    /// Changes what is known, here and in the file. If the file cannot be written, this process still knows it.
    package func change(_ subject: Subject, _ change: (inout StateTrial) -> Void) throws {
        _ = trial(of: subject)
        known.withLock { known in
            guard var new = known[subject] else { return }
            change(&new.trial)
            known[subject] = new
        }
        try write(subject, flushing: true, change)
    }

    /// Changes the file under the storage lock, for which it waits at most 0.2 s.
    private func write(_ subject: Subject, flushing: Bool, _ change: (inout StateTrial) -> Void) throws {
        try storage.withLockBlocking(tries: isBusy.load(ordering: .relaxed) ? 1 : 100) {
            isBusy.store(false, ordering: .relaxed)
            let old = try read(subject)
            var new = old
            change(&new)
            guard new != old else { return }
            // A failure of the machine may lose a count, but nothing that would bring a bad state back.
            let isFlushed = flushing || !new.setAside.isEmpty
            if try FileStore.isDirectory(subject.path) { try FileStore.removeTree(subject.path, below: subject.root) }
            try FileStore.replace(
                subject.path, below: subject.root, with: new.bytes, limit: StateTrial.mostBytes, flushing: isFlushed)
        }
    }

    /// Whether the state that a newer one replaces becomes the one to go back to: if it is good, or as long as there is
    /// no good one. Does I/O.
    ///
    /// - Parameters:
    ///   - old: the timestamp of the state that is replaced; `nil` if it cannot be read.
    ///   - kept: the timestamp of the state that is kept so far; `nil` if there is none.
    package func keeps(_ old: Timestamp?, of subject: Subject, before kept: Timestamp?) -> Bool {
        let trial = trial(of: subject)
        func isGood(_ timestamp: Timestamp) -> Bool { trial.good.contains { $0.timestamp == timestamp } }
        if let old, isGood(old) { return true }
        if let old, trial.refusal(at: old) != nil { return false }
        return kept.map { !isGood($0) } ?? true
    }
}

extension StorageDirectory {
    /// The trial of a collection's cached states.
    func trial(of id: CollectionID) -> StateTrials.Subject {
        .init(path: trialPath(id), previousPath: previousPath(id), root: path)
    }

    /// The trial of what a remote config has activated.
    func configTrial(of kept: String) -> StateTrials.Subject {
        .init(path: "\(kept).trial", previousPath: "\(kept).previous", root: path)
    }
}
