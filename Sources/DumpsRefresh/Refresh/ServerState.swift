import ContentSignature
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotFetch

/// What the server has now of the configured collections: fetched and verified as a refresh would, and nothing written.
public struct ServerState: Sendable {
    /// What came of one collection.
    public enum Outcome: Sendable {
        case snapshot(Snapshot)
        /// The server does not have the collection.
        case absent
        case failed(CollectionError)
    }

    private let directory: DumpsDirectory
    private let configuration: DumpsConfiguration
    private let client: ServerClient
    private let policy: TrustPolicy
    private let jobs: Int
    private let now: Timestamp

    /// - Parameters:
    ///   - directory: its bundles are what deltas are asked onto; what is up to date is taken from there, verified again.
    ///   - jobs: changesets under way at once.
    ///   - now: the time that chains are verified at.
    public init(
        _ directory: DumpsDirectory, configuration: DumpsConfiguration, client: ServerClient, policy: TrustPolicy,
        jobs: Int, now: Timestamp
    ) {
        self.directory = directory
        self.configuration = configuration
        self.client = client
        self.policy = policy
        self.jobs = jobs
        self.now = now
    }

    /// - Parameter names: the collections, or none for all that the configuration names.
    /// - Throws: ``DumpsError``, `HTTPError` where the monitor cannot be had, `FileError` or `BundleError` where the lock
    ///   cannot be read. What concerns one collection is in its outcome.
    public func outcomes(_ names: [CollectionID] = []) async throws -> [CollectionID: Outcome] {
        var settings = try configuration.selecting(names, file: directory.configurationPath)
        // A pin holds the bundle where it is, not the server.
        for index in settings.indices { settings[index].pin = nil }
        let lock = try directory.lockFile(limits: client.limits)
        let survey = Survey(directory, configuration: configuration, policy: policy, now: now, limits: client.limits)
        let plan = try await survey.planned(settings, lock, client: client, isFull: false)
        let fetcher = SnapshotFetcher(
            client: client, chains: ChainStore(client: client, policy: policy, time: now),
            gate: RequestGate(width: jobs),
            policy: policy)
        return await withTaskGroup(of: (CollectionID, Outcome).self) { group in
            for planned in plan { group.addTask { (planned.id, await outcome(planned, fetcher)) } }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    private func outcome(_ planned: PlannedCollection, _ fetcher: SnapshotFetcher) async -> Outcome {
        let present = try? BundleReader(path: directory.bundlePath(planned.id), limits: client.limits)
        switch planned.action {
        case .unchanged, .repack:
            let verifier = BundleVerifier(policy, limits: client.limits)
            // A bundle that is damaged is no answer to what the server has: then the server is asked.
            if let present, let held = planned.held, present.head.timestamp == held.timestamp,
                let snapshot = try? verifier.snapshot(of: present, held)
            {
                return .snapshot(snapshot)
            }
        case .create, .update, .refetch, .probe, .pinned, .pinUnmet: break
        }
        let canTakeDelta = planned.action == .update || planned.action == .probe
        let base = canTakeDelta && present?.head.timestamp == planned.held?.timestamp ? present : nil
        do {
            return .snapshot(try await fetcher.fetch(planned, base: base).snapshot)
        } catch {
            switch CollectionError(error) {
            case .gone, .fetch(.unknownCollection): return .absent
            case let error: return .failed(error)
            }
        }
    }
}
