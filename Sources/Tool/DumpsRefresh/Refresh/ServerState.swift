import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// The server's present state of the configured collections, fetched and verified as by a refresh. Nothing is written.
package struct ServerState: Sendable {
    /// The result for one collection.
    package enum Outcome: Sendable {
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
    ///   - directory: its bundles are the bases of deltas; bundles that are up to date are verified and used.
    ///   - jobs: changesets under way at once.
    ///   - now: the time that chains are verified at.
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

    /// - Parameter names: the collections, or none for all that the configuration names.
    /// - Throws: ``DumpsError``, `HTTPError` if the monitor cannot be fetched, `FileError` or `BundleError` where the
    ///   lock cannot be read. Errors of single collections are in their outcomes.
    package func outcomes(_ names: [CollectionID] = []) async throws -> [CollectionID: Outcome] {
        var settings = try configuration.selecting(names, file: directory.configurationPath)
        // A pin holds the bundle where it is, not the server.
        for index in settings.indices { settings[index].pin = nil }
        let lock = try directory.lockFile(limits: client.limits)
        let survey = Survey(directory, configuration: configuration, policy: policy, now: now, limits: client.limits)
        let (plan, _) = try await survey.planned(settings, lock, client: client, isFull: false)
        let fetcher = CollectionFetcher(
            client: client, chains: ChainStore(client: client, policy: policy, time: now), policy: policy)
        let outcomes = await plan.concurrentMap(width: jobs) { planned in
            (planned.id, await outcome(planned, fetcher))
        }
        return Dictionary(uniqueKeysWithValues: outcomes)
    }

    private func outcome(_ planned: PlannedCollection, _ fetcher: CollectionFetcher) async -> Outcome {
        let present = try? BundleReader(path: directory.bundlePath(planned.id), limits: client.limits)
        switch planned.action {
        case .unchanged, .repack:
            let verifier = BundleVerifier(policy, limits: client.limits)
            // A bundle that is damaged is no answer to what the server has: then the server is asked.
            if let present, let held = planned.held, present.head.timestamp == held.timestamp,
                let snapshot = try? verifier.snapshot(of: present, as: held)
            {
                return .snapshot(snapshot)
            }
        case .create, .update, .refetch, .probe, .pinned, .pinUnmet: break
        }
        do {
            // A bundle that cannot be read is no base for a delta, and no matter here: nothing is written.
            let base = planned.isBase(present?.head) ? try? present?.payload() : nil
            return .snapshot(try await fetcher.fetch(planned, onto: base).snapshot)
        } catch {
            switch CollectionError(error) {
            case .gone, .fetch(.unknownCollection): return .absent
            case let error: return .failed(error)
            }
        }
    }
}
