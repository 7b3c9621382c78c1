import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The server's current state of the configured collections, fetched and verified as in a refresh. Writes nothing.
package struct ServerState: Sendable {
    /// The result for one collection.
    package enum Outcome: Sendable {
        case snapshot(Snapshot)
        /// The server does not have the collection.
        case absent
        case failed(DumpsError)
    }

    private let directory: DumpsDirectory
    private let configuration: DumpsConfiguration
    private let client: ServerClient
    private let policy: TrustPolicy
    private let jobs: Int
    private let now: Timestamp

    /// Creates a reader of the server's state.
    ///
    /// - Parameters:
    ///   - directory: the directory whose bundles are used as bases of deltas. For a bundle that is up to date, nothing
    ///     is downloaded; it is only verified.
    ///   - jobs: the maximum number of concurrent requests.
    ///   - now: the time at which chains are verified.
    package init(
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

    /// Returns the outcome for each collection.
    ///
    /// - Parameter names: the collections; empty for all configured ones.
    /// - Throws: ``DumpsError``; `HTTPError` if the monitor cannot be fetched; `BundleError` if the lock file cannot be
    ///   read. Errors of single collections are in their outcomes.
    package func outcomes(_ names: [CollectionID] = []) async throws -> [CollectionID: Outcome] {
        var settings = try configuration.selecting(names, file: directory.configurationPath)
        // Ignore pins, because they do not affect the server's state.
        for index in settings.indices { settings[index].pin = nil }
        let lock = try directory.lockFile()
        let survey = Survey(directory, configuration: configuration, policy: policy, now: now)
        let (plan, _) = try await survey.planned(settings, lock, client: client, isFull: false)
        let fetcher = CollectionFetcher(
            client: client, chains: ChainStore(client: client, policy: policy, time: now), policy: policy)
        let outcomes = await plan.concurrentMap(width: jobs) { planned in
            (planned.id, await outcome(planned, fetcher))
        }
        return Dictionary(uniqueKeysWithValues: outcomes)
    }

    /// Returns the state of the current bundle, if that verifies.
    private func current(_ planned: PlannedCollection, _ present: BundleReader?) -> Snapshot? {
        guard let present, let held = planned.held, present.head.timestamp == held.timestamp else { return nil }
        return try? BundleVerifier(policy).snapshot(of: present, as: held)
    }

    private func outcome(_ planned: PlannedCollection, _ fetcher: CollectionFetcher) async -> Outcome {
        let present = try? BundleReader(path: directory.bundlePath(planned.id))
        switch planned.action {
        case .unchanged, .repack:
            // If the bundle is damaged, fetch the state from the server instead.
            if let snapshot = current(planned, present) { return .snapshot(snapshot) }
        case .create, .update, .refetch, .probe, .pinned, .pinUnmet: break
        }
        do {
            // A bundle that cannot be read is not used as the base of a delta. That is not an error here, because
            // nothing is written.
            let payload = try? present?.payload()
            let snapshot = try await fetcher.fetch(planned, onto: present, payload, BundleVerifier(policy)).snapshot
            if snapshot.timestamp == planned.held?.timestamp { try planned.checkDelivered(snapshot.timestamp) }
            return .snapshot(snapshot)
        } catch {
            switch error.kind {
            case .gone, .unknown: return .absent
            case .stale: return current(planned, present).map(Outcome.snapshot) ?? .failed(error)
            default: return .failed(error)
            }
        }
    }
}
