import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// A comparison of the lock file, the files and the monitor. It changes nothing.
package struct Survey: Sendable {
    private let directory: DumpsDirectory
    private let configuration: DumpsConfiguration
    private let policy: TrustPolicy
    private let now: Timestamp

    /// Creates a survey.
    ///
    /// - Parameter now: the time to compare with the last days of pins.
    package init(_ directory: DumpsDirectory, configuration: DumpsConfiguration, policy: TrustPolicy, now: Timestamp) {
        self.now = now
        self.directory = directory
        self.configuration = configuration
        self.policy = policy
    }

    /// Returns the local states. Does I/O, without the network.
    ///
    /// - Parameter names: the collections; empty for all configured ones.
    /// - Throws: ``Failure``, or `Failure` if the lock file cannot be read.
    package func offline(_ names: [CollectionID]) throws -> [SurveyedCollection] {
        let lock = try directory.lockFile()
        let planner = RefreshPlanner(policy: policy, isFull: false)
        return try configuration.selecting(names, file: directory.configurationPath).map { settings in
            let held = lock.collections[settings.id]
            return surveyed(
                settings, held, serverTimestamp: nil, action: held.flatMap { planner.disagreement(settings, with: $0) })
        }
    }

    /// Returns the local states and the server's. Does I/O and sends one request.
    ///
    /// - Throws: the errors of ``offline(_:)``, and `Failure`.
    package func online(_ names: [CollectionID], client: ServerClient) async throws -> [SurveyedCollection] {
        let lock = try directory.lockFile()
        let settings = try configuration.selecting(names, file: directory.configurationPath)
        let (plan, _) = try await planned(settings, lock, client: client, isFull: false)
        return plan.map { planned in
            surveyed(planned.settings, planned.held, serverTimestamp: planned.serverTimestamp, action: planned.action)
        }
    }

    /// The server's current state of a collection.
    package enum ServerState: Sendable {
        case snapshot(Snapshot)
        /// The server does not have the collection.
        case absent
        case failed(Failure)
    }

    /// Fetches the server's state of each collection and verifies it, as in a refresh. Does I/O, and writes nothing.
    /// Pins are ignored, because they do not affect the server's state.
    ///
    /// - Parameters:
    ///   - names: the collections; empty for all configured ones.
    ///   - jobs: the maximum number of concurrent requests.
    /// - Throws: the errors of ``online(_:client:)``. Errors of single collections are in the result.
    package func serverStates(
        _ names: [CollectionID], client: ServerClient, jobs: Int
    ) async throws -> [CollectionID: ServerState] {
        var settings = try configuration.selecting(names, file: directory.configurationPath)
        for index in settings.indices { settings[index].pin = nil }
        let (plan, _) = try await planned(settings, directory.lockFile(), client: client, isFull: false)
        let fetcher = CollectionFetcher(
            client: client, chains: ChainStore(client: client, policy: policy, time: now), policy: policy)
        let states = await plan.concurrentMap(width: jobs) { planned in
            (planned.id, await state(of: planned, fetcher))
        }
        return Dictionary(uniqueKeysWithValues: states)
    }

    private func state(of planned: PlannedCollection, _ fetcher: CollectionFetcher) async -> ServerState {
        // If the bundle is damaged, its state is fetched from the server instead.
        var current: Snapshot? {
            guard let held = planned.held, let bundle = try? directory.bundle(planned.id),
                bundle.head.timestamp == held.timestamp
            else { return nil }
            return try? BundleVerifier(policy).snapshot(of: bundle, as: held)
        }
        if planned.action == .unchanged || planned.action == .repack, let current { return .snapshot(current) }
        do throws(Failure) {
            return .snapshot(try await fetcher.fetch(planned, in: directory).snapshot)
        } catch {
            switch error.cause {
            case .gone, .unknownCollection: return .absent
            case .stale: return current.map(ServerState.snapshot) ?? .failed(error)
            default: return .failed(error)
            }
        }
    }

    /// A difference between the requirements of `dumps.yaml` and an entry in the lock file.
    package struct Disagreement: Sendable, Encodable {
        package let collection: CollectionID
        package let action: PlannedCollection.Action
        let reason: String?
    }

    /// Compares the lock file with `dumps.yaml`. Throws the errors of ``offline(_:)``.
    package func disagreements() throws -> [Disagreement] {
        try offline([]).compactMap { state in
            state.action.map { Disagreement(collection: state.id, action: $0, reason: $0.reason) }
        }
    }

    private func surveyed(
        _ settings: DumpsConfiguration.Collection, _ held: LockFile.Collection?, serverTimestamp: Timestamp?,
        action: PlannedCollection.Action?
    ) -> SurveyedCollection {
        SurveyedCollection(
            id: settings.id, entry: held,
            hasBundle: held != nil && directory.diskState(settings.id, held) == .asLocked,
            serverTimestamp: serverTimestamp, action: action,
            pin: settings.pin.map { PinState($0, serverTimestamp: serverTimestamp, now: now) },
            budget: settings.budget.bundle,
            // A bundle that cannot be read is reported separately.
            excess: held.flatMap { held in
                try? settings.budget.excess(of: held, in: directory.bundle(settings.id))
            })
    }

    /// Returns the plan of a refresh, and the monitor's response that it is based on.
    func planned(
        _ settings: [DumpsConfiguration.Collection], _ lock: LockFile, client: ServerClient, isFull: Bool
    ) async throws -> (plan: [PlannedCollection], monitor: MonitorChangeset) {
        guard case .changes(let document, _) = try await client.monitor(expected: nil) else {
            throw Failure.emptyMonitor("\(client.server)")
        }
        let monitor = try mapFailure(of: try MonitorChangeset(parsing: document.body)) {
            Failure(ofRefresh: Failure.changeset($0, url: "\(document.url)"))
        }
        let planner = RefreshPlanner(policy: policy, isFull: isFull)
        let plan = settings.map { settings in
            let held = lock.collections[settings.id]
            return planner.plan(
                settings, held: held, disk: directory.diskState(settings.id, held), monitor: monitor.collections)
        }
        return (plan, monitor)
    }
}

extension DumpsConfiguration {
    /// Returns the settings of the named collections. Without names, returns those of all.
    ///
    /// - Throws: ``Failure`` if a name is not configured, or if no collection is.
    func selecting(_ names: [CollectionID], file: String) throws(Failure) -> [Collection] {
        guard !names.isEmpty else {
            guard !collections.isEmpty else { throw .nothingConfigured(file) }
            return collections
        }
        let unknown = names.filter { name in !collections.contains { $0.id == name } }
        guard unknown.isEmpty else { throw .notConfigured(unknown, file, known: collections.map(\.id)) }
        return collections.filter { names.contains($0.id) }
    }
}
