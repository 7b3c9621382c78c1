import ContentSignature
import Dumps
import FileStorage
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotFetch

/// Brings a directory's bundles up to the server's state, in named stages: plan, fetch, verify, gather, pack, lock.
///
/// Collections are worked on concurrently and independently: one that fails leaves its last good bundle and the others
/// alone. Killed at any instant, no reader sees a broken bundle: each is written beside its place, read back, noted as
/// pending and renamed; the lock comes last, and the next refresh takes over what was pending.
public struct Refresh: Sendable {
    public struct Options: Sendable {
        /// Ask for everything, not only for what is newer than the bundles.
        public var isFull = false
        /// Plan, and change nothing.
        public var isDryRun = false
        /// Change nothing, and tell whether anything would change, asking the server as far as that needs.
        public var isLocked = false
        /// How old the bundle of a collection may be whose pin is past its last day; `nil` for any age.
        public var maxAge: Duration?
        /// Requests under way at once.
        public var jobs = 8

        public init() {}
    }

    private let directory: DumpsDirectory
    private let configuration: DumpsConfiguration
    private let client: ServerClient
    private let policy: TrustPolicy
    private let options: Options
    private let now: Timestamp
    private let limits: Limits
    private let onEvent: @Sendable (RefreshEvent) -> Void

    /// - Parameters:
    ///   - now: the time that chains are verified at, and that the lock will name.
    ///   - onEvent: called from any task; must not block.
    public init(
        _ directory: DumpsDirectory, configuration: DumpsConfiguration, client: ServerClient, policy: TrustPolicy,
        options: Options, now: Timestamp, onEvent: @escaping @Sendable (RefreshEvent) -> Void
    ) {
        self.directory = directory
        self.configuration = configuration
        self.client = client
        self.policy = policy
        self.options = options
        self.now = now
        limits = client.limits
        self.onEvent = onEvent
    }

    /// Refreshes these collections, or with none all that the configuration names. Does I/O and network.
    ///
    /// - Throws: ``DumpsError``, `HTTPError` where the monitor cannot be had, ``FileError`` or `BundleError` where the
    ///   lock cannot be read or written. What concerns one collection is in its outcome, never thrown.
    public func run(_ names: [CollectionID] = []) async throws -> RefreshReport {
        let settings = try configuration.selecting(names, file: directory.configurationPath)
        guard let lock = try DirectoryLock(directory.path) else { throw DumpsError.busy(directory.path) }
        defer { withExtendedLifetime(lock) {} }

        var (lockFile, recovered) = try directory.recoveredLock(limits: limits)
        if !recovered.isEmpty && isWriting { try directory.writeLock(lockFile) }
        let plan: [PlannedCollection]
        do {
            plan = try await Survey(directory, configuration: configuration, policy: policy, now: now, limits: limits)
                .planned(settings, lockFile, client: client, isFull: options.isFull)
        } catch {
            if isWriting { try keepBackoff() }
            throw error
        }
        onEvent(.planned(plan))
        // Once, before collections are worked on side by side.
        if isWriting, plan.contains(where: { $0.action.needsWork }) { try directory.prepareWork() }
        var outcomes: [CollectionOutcome]
        if options.isLocked {
            outcomes = await compare(plan)
        } else {
            outcomes = options.isDryRun ? plan.map { settled($0) ?? planned($0) } : await work(plan)
        }
        var excess: BudgetExcess?
        if isWriting {
            excess = try nameHeldBack(&outcomes, lockFile)
            try keepBackoff()
            try finish(&lockFile, outcomes)
        }
        excess = excess ?? lockFile.excess(over: configuration.totalBudget)
        return RefreshReport(
            server: "\(client.server)", isDryRun: !isWriting, isLocked: options.isLocked,
            outcomes: zip(plan, outcomes).map(judged), metrics: client.metrics, recovered: recovered, excess: excess)
    }

    private var isWriting: Bool { !options.isDryRun && !options.isLocked }

    private func planned(_ planned: PlannedCollection) -> CollectionOutcome {
        CollectionOutcome(planned, status: .planned)
    }

    /// The outcome for a collection that nothing is fetched or written for; `nil` for the others.
    private func settled(_ planned: PlannedCollection) -> CollectionOutcome? {
        var outcome = CollectionOutcome(planned, status: .failed)
        switch planned.action {
        case .unchanged, .pinned:
            outcome.error = directory.excess(of: planned, limits: limits)
            if outcome.error == nil { outcome.status = planned.action == .pinned ? .pinned : .unchanged }
        case .pinUnmet(let reason):
            if let pin = planned.settings.pin {
                outcome.error = .pin(.unmet(planned.id, pin, reason: reason))
            }
        case .create, .update, .refetch, .repack, .probe: return nil
        }
        return outcome
    }

    /// Adds how the collection stands to its pin.
    private func judged(_ planned: PlannedCollection, _ outcome: CollectionOutcome) -> CollectionOutcome {
        guard let pin = planned.settings.pin else { return outcome }
        var outcome = outcome
        // The monitor's word: where the bundle was only packed again, the outcome has the bundle's own.
        let state = PinState(pin, serverTimestamp: planned.serverTimestamp, now: now)
        outcome.pin = state
        guard state.isOverdue, let until = pin.until else { return outcome }
        outcome.notes.append(
            "its pin was to end on \(Pin.dateText(until)); unpin it, or pin it again with a later --until")
        // What was written stays written: only a collection that nothing was done for fails by its age.
        if outcome.status == .pinned, let maxAge = options.maxAge, let age = planned.held?.age(at: now), age > maxAge {
            outcome.status = .failed
            outcome.error = .pin(.overdue(planned.id, pin))
        }
        return outcome
    }

    /// Tells without writing anything whether each collection is what the server has.
    private func compare(_ plan: [PlannedCollection]) async -> [CollectionOutcome] {
        let fetcher = SnapshotFetcher(
            client: client, chains: ChainStore(client: client, policy: policy, time: now),
            gate: RequestGate(width: options.jobs), policy: policy)
        var outcomes: [CollectionOutcome] = []
        for planned in plan {
            var outcome = settled(planned) ?? self.planned(planned)
            // The monitor says nothing of it, so that only its state itself can tell.
            if planned.action == .probe {
                do {
                    let fetched = try await fetcher.fetch(planned, base: nil)
                    outcome.serverTimestamp = fetched.snapshot.timestamp
                    if directory.isHeld(fetched.snapshot, planned, limits: limits) { outcome.status = .unchanged }
                } catch {
                    outcome.status = .failed
                    outcome.error = CollectionError(error)
                }
            }
            outcomes.append(outcome)
        }
        return outcomes
    }

    private func work(_ plan: [PlannedCollection]) async -> [CollectionOutcome] {
        let gate = RequestGate(width: options.jobs)
        let deflaters = DeflaterPool()
        let refresher = CollectionRefresher(
            directory: directory,
            fetcher: SnapshotFetcher(
                client: client, chains: ChainStore(client: client, policy: policy, time: now), gate: gate,
                policy: policy),
            gatherer: AttachmentGatherer(
                client: client, directory: directory, gate: gate,
                attachmentsURL: AttachmentsURLSource(client: client), deflaters: deflaters, jobs: options.jobs,
                limits: limits, onEvent: onEvent),
            deflaters: deflaters,
            policy: policy, server: "\(client.server)", limits: limits,
            holdsBack: configuration.totalBudget != nil)
        return await withTaskGroup(of: CollectionOutcome.self) { group in
            var outcomes: [CollectionOutcome] = []
            var queue = plan.makeIterator()
            func enqueue(_ planned: PlannedCollection) {
                if let settled = settled(planned) {
                    outcomes.append(settled)
                    onEvent(.finished(settled))
                    return
                }
                group.addTask {
                    onEvent(.began(planned.id))
                    let outcome = await refresher.refresh(planned, onEvent: onEvent)
                    // What waits for its name may still come to be over the budget.
                    if !outcome.isHeldBack { onEvent(.finished(outcome)) }
                    return outcome
                }
            }
            var running = 0
            while let planned = queue.next() {
                let before = outcomes.count
                enqueue(planned)
                if outcomes.count == before { running += 1 }
                if running >= options.jobs, let outcome = await group.next() {
                    outcomes.append(outcome)
                    running -= 1
                }
            }
            for await outcome in group { outcomes.append(outcome) }
            return outcomes.sorted { $0.id < $1.id }
        }
    }

    /// Where all bundles together have a budget, gives the finished ones their names, or none of them.
    ///
    /// - Returns: what they are over the budget.
    private func nameHeldBack(_ outcomes: inout [CollectionOutcome], _ lock: LockFile) throws -> BudgetExcess? {
        guard let limit = configuration.totalBudget else { return nil }
        let finished = outcomes.indices.filter { outcomes[$0].status != .failed && outcomes[$0].isHeldBack }
        var after = lock
        for index in finished { after.collections[outcomes[index].id] = outcomes[index].entry }
        let excess = finished.isEmpty ? nil : after.excess(over: limit)
        for index in finished {
            let id = outcomes[index].id
            if let excess {
                try FileStore.remove(directory.packPath(id))
                outcomes[index].status = .failed
                outcomes[index].error = .overBudget(excess)
                outcomes[index].entry = lock.collections[id]
            } else if let entry = outcomes[index].entry {
                try directory.name(id, entry)
                try FileStore.remove(directory.stagedPath(id))
            }
            onEvent(.finished(outcomes[index]))
        }
        return excess
    }

    private func keepBackoff() throws {
        let state = client.backoff
        if !state.holds(at: now).isEmpty || FileStore.isDirectory(directory.workPath) {
            try BackoffStore(directory).write(state, now: now)
        }
    }

    private func finish(_ lockFile: inout LockFile, _ outcomes: [CollectionOutcome]) throws {
        let before = lockFile
        for outcome in outcomes where outcome.status != .failed {
            if let entry = outcome.entry { lockFile.collections[outcome.id] = entry }
        }
        if lockFile != before { try directory.writeLock(lockFile) }
        if FileStore.isDirectory(directory.workPath) {
            try directory.finishWork(keepingDownloads: outcomes.contains { $0.status == .failed })
        }
    }
}
