import ContentSignature
import FileStorage
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotSync
import SnapshotWriter

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
        /// Requests under way at once.
        public var jobs = 8

        public init() {}
    }

    private let directory: DumpsDirectory
    private let configuration: DumpsConfiguration
    private let client: ServerClient
    private let roots: TrustAnchors
    private let options: Options
    private let now: Timestamp
    private let limits: Limits
    private let onEvent: @Sendable (RefreshEvent) -> Void

    /// - Parameters:
    ///   - now: the time that chains are verified at, and that the lock will name.
    ///   - onEvent: called from any task; must not block.
    public init(
        _ directory: DumpsDirectory, configuration: DumpsConfiguration, client: ServerClient, roots: TrustAnchors,
        options: Options, now: Timestamp, onEvent: @escaping @Sendable (RefreshEvent) -> Void
    ) {
        self.directory = directory
        self.configuration = configuration
        self.client = client
        self.roots = roots
        self.options = options
        self.now = now
        limits = client.limits
        self.onEvent = onEvent
    }

    /// Refreshes these collections, or with none all that the configuration names. Does I/O and network.
    ///
    /// - Throws: ``RefreshError``, `HTTPError` where the monitor cannot be had, ``FileError`` or `BundleError` where the
    ///   lock cannot be read or written. What concerns one collection is in its outcome, never thrown.
    public func run(_ names: [CollectionID] = []) async throws -> RefreshReport {
        let settings = try configuration.selecting(names, file: directory.configurationPath)
        guard let lock = try DirectoryLock(directory.path) else { throw RefreshError.busy(directory.path) }
        defer { withExtendedLifetime(lock) {} }

        var (lockFile, recovered) = try recover()
        let plan: [PlannedCollection]
        do {
            plan = try await Survey(directory, configuration: configuration, roots: roots, limits: limits)
                .planned(settings, lockFile, client: client, isFull: options.isFull)
        } catch {
            if !options.isDryRun { try keepBackoff() }
            throw error
        }
        onEvent(.planned(plan))
        // Once, before collections are worked on side by side.
        if !options.isDryRun, plan.contains(where: { $0.action.needsWork }) { try directory.prepareWork() }
        let outcomes = options.isDryRun ? plan.map(dryRun) : await work(plan)
        if !options.isDryRun {
            try keepBackoff()
            try finish(&lockFile, outcomes)
        }
        return RefreshReport(
            server: "\(client.server)", isDryRun: options.isDryRun, outcomes: outcomes, metrics: client.metrics,
            recovered: recovered)
    }

    /// Takes over the bundles of an interrupted refresh: where the file is the one that was noted, the note becomes the
    /// lock's entry.
    private func recover() throws -> (LockFile, [CollectionID]) {
        var lockFile = try directory.lockFile(limits: limits)
        var recovered: [CollectionID] = []
        for (id, entry) in try directory.pendingEntries(limits: limits).sorted(by: { $0.key < $1.key })
        where lockFile.collections[id] != entry {
            let path = directory.bundlePath(id)
            guard FileStore.size(path) == entry.bundle.size,
                try FileStore.digest(of: path) == entry.bundle.sha256
            else { continue }
            lockFile.collections[id] = entry
            recovered.append(id)
        }
        if !recovered.isEmpty && !options.isDryRun { try directory.writeLock(lockFile) }
        return (lockFile, recovered)
    }

    private func dryRun(_ planned: PlannedCollection) -> CollectionOutcome {
        switch planned.action {
        case .unchanged: return CollectionOutcome(planned, status: .unchanged)
        case .refuse: return refusal(planned)
        default: return CollectionOutcome(planned, status: .planned)
        }
    }

    private func refusal(_ planned: PlannedCollection) -> CollectionOutcome {
        var outcome = CollectionOutcome(planned, status: .failed)
        if let held = planned.held, let answered = planned.serverTimestamp {
            outcome.error = .fetch(.rollback(held: held.timestamp, answered: answered))
        }
        return outcome
    }

    private func work(_ plan: [PlannedCollection]) async -> [CollectionOutcome] {
        let gate = RequestGate(width: options.jobs)
        let refresher = CollectionRefresher(
            directory: directory,
            fetcher: SnapshotFetcher(
                client: client, chains: ChainStore(client: client, roots: roots, time: now), gate: gate,
                trust: configuration.trust),
            gatherer: AttachmentGatherer(
                client: client, directory: directory, gate: gate,
                attachmentsURL: AttachmentsURLSource(client: client), jobs: options.jobs, limits: limits,
                onEvent: onEvent),
            roots: roots, trust: configuration.trust, server: "\(client.server)", limits: limits)
        return await withTaskGroup(of: CollectionOutcome.self) { group in
            var outcomes: [CollectionOutcome] = []
            var queue = plan.makeIterator()
            func enqueue(_ planned: PlannedCollection) {
                switch planned.action {
                case .unchanged: outcomes.append(CollectionOutcome(planned, status: .unchanged))
                case .refuse: outcomes.append(refusal(planned))
                default:
                    group.addTask {
                        onEvent(.began(planned.id))
                        let outcome = await refresher.refresh(planned, onEvent: onEvent)
                        onEvent(.finished(outcome))
                        return outcome
                    }
                    return
                }
                onEvent(.finished(outcomes[outcomes.count - 1]))
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
