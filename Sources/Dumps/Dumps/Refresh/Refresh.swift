import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// A refresh, which updates a directory's bundles to the server's state. Its steps are: begin, survey and plan; fetch,
/// verify, select and pack each collection; commit; report.
///
/// Collections are refreshed concurrently and independently. If one fails, its last good bundle is kept, and the others
/// are not affected. All new bundles become current in one commit. If the process is killed before it, the downloads
/// are kept for the next refresh.
package struct Refresh: Sendable {
    package struct Options: Sendable {
        /// Whether to fetch everything, not only the changes since the bundles.
        package var isFull = false
        /// The collections whose new states are accepted even if they violate guards.
        package var accepted: Set<CollectionID> = []
        /// Whether to only plan, without changes.
        package var isDryRun = false
        /// Whether to only report whether anything would change (`--locked`).
        package var isLocked = false
        /// The maximum age of a bundle whose pin has expired; `nil` for any age.
        package var maxAge: Duration?
        /// The maximum number of concurrent requests and connections to servers that use HTTP/1.1.
        package var jobs = 8
        /// The maximum number of concurrent requests to servers that use HTTP/2, over one connection. RFC 9113, section
        /// 6.5.2, recommends that servers allow at least 100.
        package var streams = 100

        /// Whether nothing is written.
        package var isReadOnly: Bool { isDryRun || isLocked }

        package init() {}
    }

    private let transaction: DumpsTransaction
    private var directory: DumpsDirectory { transaction.directory }
    private let configuration: DumpsConfiguration
    private let client: ServerClient
    private let policy: TrustPolicy
    private let options: Options
    private let now: Timestamp
    private let onEvent: @Sendable (RefreshEvent) -> Void

    /// Creates a refresh.
    ///
    /// - Parameters:
    ///   - transaction: a transaction in which nothing was changed yet. It must be read-only if the options are.
    ///   - configuration: the directory's settings, and the command's. They were read after the transaction has begun.
    ///   - now: the time at which chains are verified, which becomes `verifiedAt` in the lock file.
    ///   - onEvent: a closure that receives the progress. It is called on any task and must not block.
    package init(
        _ transaction: DumpsTransaction, configuration: DumpsConfiguration, client: ServerClient, policy: TrustPolicy,
        options: Options, now: Timestamp, onEvent: @escaping @Sendable (RefreshEvent) -> Void
    ) {
        self.transaction = transaction
        self.configuration = configuration
        self.client = client
        self.policy = policy
        self.options = options
        self.now = now
        self.onEvent = onEvent
    }

    /// Refreshes the named collections, or all configured ones if there are no names, and ends the transaction. Does
    /// I/O and uses the network.
    ///
    /// - Throws: ``Failure``; `Failure` if the monitor cannot be fetched; ``Failure`` if the lock file cannot
    ///   be read or written. Errors of single collections are in their outcomes.
    package func run(_ names: [CollectionID] = []) async throws -> RefreshReport {
        let settings = try selected(names)
        let removed = try directory.unlistedCollections(transaction.before)
        try transaction.remove(removed)
        let unlisted = removed + (options.isReadOnly ? [] : [transaction.before.retired].compactMap(\.self))
        let plan: Plan
        let results: [CollectionOutcome]
        do {
            plan = try await surveyAndPlan(settings)
            results = try await refreshEach(plan)
        } catch {
            if isWriting {
                try keepBackoff()
                try transaction.end()
            }
            throw error
        }
        let staged = Set(results.map(\.id).filter(transaction.hasStaged))
        let refusal = isWriting ? try commit(results, staged) : nil
        return try await report(plan, results, staged, refusal, unlisted: unlisted)
    }

    private func selected(_ names: [CollectionID]) throws(Failure) -> [DumpsConfiguration.Collection] {
        let settings = try configuration.selecting(names, file: directory.configurationPath)
        let strangers = options.accepted.filter { id in !settings.contains { $0.id == id } }
        guard strangers.isEmpty else {
            throw .notConfigured(strangers.sorted(), directory.configurationPath, known: settings.map(\.id))
        }
        return settings
    }

    /// The planned actions for all collections.
    private struct Plan {
        let collections: [PlannedCollection]
        let monitor: MonitorChangeset
        let chains: ChainStore
    }

    private func surveyAndPlan(_ settings: [DumpsConfiguration.Collection]) async throws -> Plan {
        let survey = Survey(directory, configuration: configuration, policy: policy, now: now)
        let (collections, monitor) = try await survey.planned(
            settings, transaction.before, client: client, isFull: options.isFull)
        onEvent(.planned(collections))
        return Plan(
            collections: collections, monitor: monitor, chains: ChainStore(client: client, policy: policy, time: now))
    }

    /// Fetches, verifies, selects and packs each collection that needs it.
    ///
    /// - Returns: the outcomes so far. The packed bundles are not committed yet.
    private func refreshEach(_ plan: Plan) async throws -> [CollectionOutcome] {
        if options.isLocked { return await compare(plan) }
        if options.isDryRun {
            return plan.collections.map { outcomeWithoutWork($0) ?? CollectionOutcome($0, status: .planned) }
        }
        return try await work(plan)
    }

    /// Makes the staged bundles current. Does I/O.
    ///
    /// - Returns: the reason that none could become current: they exceed their budget; `nil` on success.
    private func commit(_ results: [CollectionOutcome], _ staged: Set<CollectionID>) throws -> Failure? {
        var refusal: Failure?
        do {
            try transaction.commit(configuration)
            // The commit is already complete, so a download that cannot be removed is not a failure.
            for id in staged { try? directory.removeDownloads(of: id) }
        } catch let error as Failure where error.excess != nil {
            refusal = error
            try transaction.discard(staged)
            try transaction.commit(configuration)
        }
        try keepBackoff()
        try transaction.end(keepingDownloads: hasFailures(results, staged, refusal))
        return refusal
    }

    private func hasFailures(_ results: [CollectionOutcome], _ staged: Set<CollectionID>, _ refusal: Failure?) -> Bool {
        results.contains { $0.status == .failed } || (refusal != nil && !staged.isEmpty)
    }

    private func report(
        _ plan: Plan, _ results: [CollectionOutcome], _ staged: Set<CollectionID>, _ refusal: Failure?,
        unlisted: [CollectionID]
    ) async throws -> RefreshReport {
        let lock = try directory.readableLock().lock
        let missed = hasFailures(results, staged, refusal) ? await MissedRefreshes(directory) : nil
        let outcomes = zip(plan.collections, results).map { planned, result in
            outcome(
                of: planned, result, refusal: staged.contains(planned.id) ? refusal : nil, missed: missed,
                monitor: plan.monitor)
        }
        for outcome in outcomes where staged.contains(outcome.id) { onEvent(.finished(outcome)) }
        let refused = outcomes.lazy.compactMap(\.error?.excess).first { $0.subject == .total }
        return RefreshReport(
            server: "\(client.server)", monitor: plan.monitor.timestamp, isDryRun: !isWriting,
            isLocked: options.isLocked, outcomes: outcomes, metrics: client.metrics, recovered: transaction.recovered,
            unlisted: unlisted, excess: refused ?? lock.excess(over: configuration.totalBudget))
    }

    /// Returns the outcome of a collection, which combines the results of its own refresh, the commit and its pin.
    ///
    /// - Parameters:
    ///   - refusal: the reason that its packed bundle could not become current.
    ///   - missed: the earlier refreshes; `nil` if nothing failed.
    private func outcome(
        of planned: PlannedCollection, _ result: CollectionOutcome, refusal: Failure?, missed: MissedRefreshes?,
        monitor: MonitorChangeset
    ) -> CollectionOutcome {
        var outcome = result
        if let refusal { (outcome.status, outcome.error) = (.failed, refusal) }
        if outcome.status == .failed {
            // Add notes about the start of the failure, and about a similar name that may have been intended.
            missed?.sentence(outcome.serverTimestamp, bundle: outcome.previous).map { outcome.notes.append($0) }
            if case .unknownCollection? = outcome.error?.cause, monitor.collections[outcome.id] == nil {
                let similar = outcome.id.mostSimilar(in: monitor.collections.keys)
                outcome.notes.append(
                    similar.map { "did you mean \($0)?" } ?? "list the server's collections with: rsdump list")
            }
        }
        if let pin = planned.settings.pin {
            // Use the monitor's timestamp, because after repacking the outcome contains the bundle's own.
            let state = PinState(pin, serverTimestamp: planned.serverTimestamp, now: now)
            outcome.pin = state
            if state.isOverdue, let until = pin.until {
                outcome.notes.append(
                    "its pin expired on \(Pin.dateText(until)); unpin it, or pin it again with a later --until")
                // Only an unchanged collection fails because of its age, so that new data is never discarded.
                if outcome.status == .pinned, let maxAge = options.maxAge, let age = planned.held?.age(at: now),
                    age > maxAge
                {
                    (outcome.status, outcome.error) = (.failed, .overdue(planned.id, pin))
                }
            }
        }
        // With `--locked`, a failure is never acknowledged, because it leaves unknown whether the bundle is up to date.
        if let known = planned.settings.acknowledged, !options.isLocked { outcome.acknowledge(known, at: now) }
        if [.failed, .acknowledged, .planned].contains(outcome.status) { outcome.entry = nil }
        return outcome
    }

    private var isWriting: Bool { !options.isReadOnly }

    /// Returns the outcome of a collection that needs no work; `nil` for the others.
    private func outcomeWithoutWork(_ planned: PlannedCollection) -> CollectionOutcome? {
        var outcome = CollectionOutcome(planned, status: .failed)
        switch planned.action {
        case .unchanged, .pinned:
            outcome.status = planned.action == .pinned ? .pinned : .unchanged
            outcome = withinBudget(planned, outcome)
        case .pinUnmet(let reason):
            if let pin = planned.settings.pin {
                outcome.error = .unmet(planned.id, pin, reason: reason)
            }
        case .create, .update, .refetch, .repack, .probe: return nil
        }
        return outcome
    }

    /// Changes the outcome to a failure if the current bundle, which is kept, exceeds its budget. The budget may have
    /// been lowered since the bundle was written.
    private func withinBudget(_ planned: PlannedCollection, _ outcome: CollectionOutcome) -> CollectionOutcome {
        guard [.unchanged, .pinned].contains(outcome.status), let held = planned.held else { return outcome }
        var outcome = outcome
        do {
            if let excess = try planned.settings.budget.excess(of: held, in: directory.bundle(planned.id)) {
                outcome.error = .overBudget(excess)
            }
        } catch {
            outcome.error = Failure(ofRefresh: error, of: outcome.id)
        }
        if outcome.error != nil { outcome.status = .failed }
        return outcome
    }

    /// Compares each collection with the server's state. Writes nothing.
    private func compare(_ plan: Plan) async -> [CollectionOutcome] {
        let fetcher = CollectionFetcher(client: client, chains: plan.chains, policy: policy)
        var outcomes: [CollectionOutcome] = []
        for planned in plan.collections {
            var outcome = outcomeWithoutWork(planned) ?? CollectionOutcome(planned, status: .planned)
            // The monitor does not list the current state, so fetch the collection to find out whether it has changed.
            if planned.action == .probe, outcome.error == nil {
                do throws(Failure) {
                    let fetched = try await fetcher.fetch(planned, in: directory)
                    outcome.serverTimestamp = fetched.snapshot.timestamp
                    let isAsWanted = planned.held?.attachmentRule == planned.settings.attachments.text
                    if fetched.succession == .same, isAsWanted,
                        directory.diskState(planned.id, planned.held) == .asLocked
                    {
                        outcome.status = .unchanged
                    }
                } catch  where error.cause == .stale {
                    outcome.status = .unchanged
                    outcome.notes.append("\(error)")
                } catch {
                    (outcome.status, outcome.error) = (.failed, error)
                }
            }
            outcomes.append(withinBudget(planned, outcome))
        }
        return outcomes
    }

    private func work(_ plan: Plan) async throws -> [CollectionOutcome] {
        // Create the directory here, before collections are refreshed concurrently.
        if plan.collections.contains(where: { $0.action.needsWork }) { try directory.prepareWork() }
        let gate = RequestGate(connections: options.jobs, streams: options.streams, isMultiplexed: client.isMultiplexed)
        let refresher = CollectionRefresher(
            transaction: transaction,
            fetcher: CollectionFetcher(client: client, chains: plan.chains, policy: policy, gate: gate),
            gatherer: AttachmentGatherer(
                client: client, directory: directory, gate: gate,
                attachmentsURL: AttachmentsURLSource(), width: max(options.jobs, options.streams),
                onEvent: onEvent),
            verifier: BundleVerifier(policy), server: "\(client.server)",
            accepted: options.accepted, onEvent: onEvent)
        // The monitor's response has shown which version of HTTP the server uses.
        let width = client.isMultiplexed(client.server.root) ? options.streams : options.jobs
        return await plan.collections.concurrentMap(width: width) { planned in
            if let finished = outcomeWithoutWork(planned) {
                onEvent(.finished(finished))
                return finished
            }
            onEvent(.began(planned.id))
            let outcome = await refresher.refresh(planned)
            // The outcomes of staged bundles are reported later, because the commit may still fail.
            onEvent(transaction.hasStaged(planned.id) ? .staged(planned.id) : .finished(outcome))
            return outcome
        }
    }

    private func keepBackoff() throws {
        let state = client.backoff
        if try !state.holds(at: now).isEmpty || FileStore.isDirectory(directory.workPath) {
            try directory.keepBackoff(state, now: now)
        }
    }
}
