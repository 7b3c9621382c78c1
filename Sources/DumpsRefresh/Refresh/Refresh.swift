import ContentSignature
import Dumps
import FileStorage
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotFetch

/// Brings a directory's bundles up to the server's state, in named stages: plan, fetch, verify, gather, pack, lock.
///
/// Collections are refreshed concurrently and independently: one that fails keeps its last good bundle and does not affect the
/// others. If the process is killed, no reader sees a broken bundle: each is written to a temporary file, read back, noted as
/// pending and renamed. The lock is written last, and the next refresh adopts pending bundles.
package struct Refresh: Sendable {
    package struct Options: Sendable {
        /// Fetch everything, not only what is newer than the bundles.
        package var isFull = false
        /// Plan, and change nothing.
        package var isDryRun = false
        /// Change nothing, and report whether anything would change.
        package var isLocked = false
        /// The largest age of a bundle whose pin has ended; `nil` for any age.
        package var maxAge: Duration?
        /// Requests under way at once.
        package var jobs = 8
        /// The monitor's timestamp that an update event announced: caches are not asked for an older state. `nil` for none.
        package var expected: Timestamp?

        package init() {}
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
    ///   - now: the time at which chains are verified, which becomes the lock's `verifiedAt`.
    ///   - onEvent: called from any task; must not block.
    package init(
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

    /// Refreshes the named collections, or all configured ones if none is named. Does I/O and network.
    ///
    /// - Throws: ``DumpsError``, `HTTPError` if the monitor cannot be fetched, ``FileError`` or `BundleError` where the
    ///   lock cannot be read or written. Errors of single collections are in their outcomes.
    package func run(_ names: [CollectionID] = []) async throws -> RefreshReport {
        let settings = try configuration.selecting(names, file: directory.configurationPath)
        guard let lock = try DirectoryLock(directory.path) else { throw DumpsError.busy(directory.path) }
        defer { withExtendedLifetime(lock) {} }

        var (lockFile, recovered) = try directory.recoveredLock(limits: limits)
        if !recovered.isEmpty && isWriting { try directory.writeLock(lockFile) }
        let (plan, monitor): ([PlannedCollection], Timestamp)
        do {
            (plan, monitor) = try await Survey(
                directory, configuration: configuration, policy: policy, now: now, limits: limits
            )
            .planned(settings, lockFile, client: client, isFull: options.isFull, expected: options.expected)
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
            server: "\(client.server)", monitor: monitor, isDryRun: !isWriting, isLocked: options.isLocked,
            outcomes: zip(plan, outcomes).map(judged), metrics: client.metrics, recovered: recovered, excess: excess)
    }

    private var isWriting: Bool { !options.isDryRun && !options.isLocked }

    private func planned(_ planned: PlannedCollection) -> CollectionOutcome {
        CollectionOutcome(planned, status: .planned)
    }

    /// The outcome for a collection for which nothing is fetched or written; `nil` for the others.
    private func settled(_ planned: PlannedCollection) -> CollectionOutcome? {
        var outcome = CollectionOutcome(planned, status: .failed)
        switch planned.action {
        case .unchanged, .pinned:
            outcome.status = planned.action == .pinned ? .pinned : .unchanged
            outcome = withinBudget(planned, outcome)
        case .pinUnmet(let reason):
            if let pin = planned.settings.pin {
                outcome.error = .pin(.unmet(planned.id, pin, reason: reason))
            }
        case .create, .update, .refetch, .repack, .probe: return nil
        }
        return outcome
    }

    /// Fails a collection whose bundle stays, if it exceeds its budget, which may have been lowered since it was written.
    private func withinBudget(_ planned: PlannedCollection, _ outcome: CollectionOutcome) -> CollectionOutcome {
        guard [.unchanged, .pinned].contains(outcome.status), let held = planned.held else { return outcome }
        var outcome = outcome
        do {
            if let excess = try directory.excess(of: planned.id, held, over: planned.settings.budget, limits: limits) {
                outcome.error = .overBudget(excess)
            }
        } catch {
            outcome.error = CollectionError(error)
        }
        if outcome.error != nil { outcome.status = .failed }
        return outcome
    }

    /// Adds the state of the collection's pin.
    private func judged(_ planned: PlannedCollection, _ outcome: CollectionOutcome) -> CollectionOutcome {
        guard let pin = planned.settings.pin else { return outcome }
        var outcome = outcome
        // From the monitor: after repacking, the outcome's timestamp is the bundle's own.
        let state = PinState(pin, serverTimestamp: planned.serverTimestamp, now: now)
        outcome.pin = state
        guard state.isOverdue, let until = pin.until else { return outcome }
        outcome.notes.append(
            "its pin ended on \(Pin.dateText(until)); unpin it, or pin it again with a later --until")
        // Only an unchanged collection fails because of its age: what was just written is not discarded.
        if outcome.status == .pinned, let maxAge = options.maxAge, let age = planned.held?.age(at: now), age > maxAge {
            outcome.status = .failed
            outcome.error = .pin(.overdue(planned.id, pin))
        }
        return outcome
    }

    /// Compares each collection with the server's state, writing nothing.
    private func compare(_ plan: [PlannedCollection]) async -> [CollectionOutcome] {
        let fetcher = CollectionFetcher(
            client: client, chains: ChainStore(client: client, policy: policy, time: now), policy: policy)
        var outcomes: [CollectionOutcome] = []
        for planned in plan {
            var outcome = settled(planned) ?? self.planned(planned)
            // The monitor does not list it: only its state shows whether it changed.
            if planned.action == .probe {
                do {
                    let fetched = try await fetcher.fetch(planned, onto: nil)
                    outcome.serverTimestamp = fetched.snapshot.timestamp
                    if try directory.isHeld(fetched.snapshot, planned, limits: limits) { outcome.status = .unchanged }
                } catch let error as BundleError {
                    outcome.notes.append("its bundle cannot be read (\(error))")
                } catch {
                    outcome.status = .failed
                    outcome.error = CollectionError(error)
                }
            }
            outcomes.append(withinBudget(planned, outcome))
        }
        return outcomes
    }

    private func work(_ plan: [PlannedCollection]) async -> [CollectionOutcome] {
        let gate = RequestGate(width: options.jobs)
        let deflaters = DeflaterPool()
        let refresher = CollectionRefresher(
            directory: directory,
            fetcher: CollectionFetcher(
                client: client, chains: ChainStore(client: client, policy: policy, time: now), policy: policy,
                gate: gate),
            gatherer: AttachmentGatherer(
                client: client, directory: directory, gate: gate,
                attachmentsURL: AttachmentsURLSource(), deflaters: deflaters, jobs: options.jobs,
                limits: limits, onEvent: onEvent),
            deflaters: deflaters,
            policy: policy, server: "\(client.server)", limits: limits,
            holdsBack: configuration.totalBudget != nil)
        return await plan.concurrentMap(width: options.jobs) { planned in
            if let settled = settled(planned) {
                onEvent(.finished(settled))
                return settled
            }
            onEvent(.began(planned.id))
            let outcome = withinBudget(planned, await refresher.refresh(planned, onEvent: onEvent))
            // A bundle that is held back may still turn out to be over the budget.
            if !outcome.isHeldBack { onEvent(.finished(outcome)) }
            return outcome
        }
    }

    /// If all bundles together have a budget, renames all finished ones into place, or none of them.
    ///
    /// - Returns: by how much they exceed the budget.
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
                try? FileStore.remove(directory.stagedPath(id))
            }
            onEvent(.finished(outcomes[index]))
        }
        return excess
    }

    private func keepBackoff() throws {
        let state = client.backoff
        if try !state.holds(at: now).isEmpty || FileStore.isDirectory(directory.workPath) {
            try directory.keepBackoff(state, now: now)
        }
    }

    private func finish(_ lockFile: inout LockFile, _ outcomes: [CollectionOutcome]) throws {
        let before = lockFile
        for outcome in outcomes where outcome.status != .failed {
            if let entry = outcome.entry { lockFile.collections[outcome.id] = entry }
        }
        if lockFile != before { try directory.writeLock(lockFile) }
        if try FileStore.isDirectory(directory.workPath) {
            try directory.finishWork(keepingDownloads: outcomes.contains { $0.status == .failed })
        }
    }
}

extension DumpsDirectory {
    private var backoffPath: String { "\(workPath)/backoff.json" }

    /// The pauses that servers asked for (`Backoff`, `Retry-After`), as stored by the last refresh. An unreadable file counts
    /// as empty: the server will ask again.
    package func backoff(limits: Limits) -> BackoffState { BackoffFile.read(backoffPath, limits: limits) }

    /// Writes the pauses that have not ended, or removes the file if there are none.
    fileprivate func keepBackoff(_ state: BackoffState, now: Timestamp) throws(FileError) {
        if !state.holds(at: now).isEmpty { try prepareWork() }
        try BackoffFile.write(state, to: backoffPath, now: now)
    }
}
