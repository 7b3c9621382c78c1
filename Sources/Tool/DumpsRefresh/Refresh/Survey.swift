import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// The local state of a collection, the server's, and what a refresh would do.
package struct SurveyedCollection: Sendable {
    package let id: CollectionID
    /// The lock entry; `nil` if the collection was never fetched.
    package let entry: LockFile.Collection?
    /// Whether the bundle exists, with the size and timestamp in the lock.
    package let hasBundle: Bool
    /// `nil` offline, and if the monitor does not list the collection.
    package let serverTimestamp: Timestamp?
    /// Offline, only what a refresh would do because `dumps.yaml` differs from the lock; `nil` if it does not differ.
    package let action: PlannedCollection.Action?
    /// The state of its pin; `nil` if it has none.
    package let pin: PinState?
    /// The most bytes that its bundle may have; `nil` if the configuration sets no limit.
    package let budget: UInt64?
    /// The excess of the current bundle over its budget, which may have been lowered since.
    package let excess: BudgetExcess?
}

extension LockFile.Collection {
    /// When the data was verified; `nil` if it is not signed.
    package var verifiedAt: Timestamp? { trust.verdict?.verifiedAt }

    /// The time since the data was verified or, if it is not signed, since it changed on the server.
    package func age(at now: Timestamp) -> Duration { now.elapsed(since: verifiedAt ?? timestamp) }
}

extension SurveyedCollection {
    /// Whether a bundle is new enough.
    package enum Freshness: String, Hashable, Sendable {
        case fresh
        case old
        case tooOld = "too-old"
        case missing
    }

    /// Judges the bundle by its age.
    ///
    /// A bundle that has the server's state is fresh, however old that state is. A pinned bundle is fresh until its
    /// pin's last day has passed.
    ///
    /// - Parameter maxAge: `nil` for any age.
    package func freshness(at now: Timestamp, maxAge: Duration?) -> Freshness {
        guard let entry, hasBundle else { return .missing }
        let isTooOld = maxAge.map { entry.age(at: now) > $0 } ?? false
        if let pin { return !pin.isOverdue ? .fresh : isTooOld ? .tooOld : .old }
        if serverTimestamp == entry.timestamp { return .fresh }
        return isTooOld ? .tooOld : .fresh
    }
}

/// Compares the lock, the files and the monitor, and changes nothing.
package struct Survey: Sendable {
    private let directory: DumpsDirectory
    private let configuration: DumpsConfiguration
    private let policy: TrustPolicy
    private let now: Timestamp
    private let limits: Limits

    /// - Parameter now: the time to compare with the last days of pins.
    package init(
        _ directory: DumpsDirectory, configuration: DumpsConfiguration, policy: TrustPolicy, now: Timestamp,
        limits: Limits
    ) {
        self.now = now
        self.directory = directory
        self.configuration = configuration
        self.policy = policy
        self.limits = limits
    }

    /// The local states. Does I/O, no network.
    ///
    /// - Parameter names: the collections; empty for all that the configuration names.
    /// - Throws: ``DumpsError``, or ``FileError`` or `BundleError` if the lock cannot be read.
    package func offline(_ names: [CollectionID]) throws -> [SurveyedCollection] {
        let lock = try directory.lockFile(limits: limits)
        let planner = RefreshPlanner(policy: policy, isFull: false)
        return try configuration.selecting(names, file: directory.configurationPath).map { settings in
            let held = lock.collections[settings.id]
            return surveyed(
                settings, held, serverTimestamp: nil, action: held.flatMap { planner.disagreement(settings, with: $0) })
        }
    }

    /// The local states and the server's. Does I/O and one request.
    ///
    /// - Throws: the errors of ``offline(_:)``, and `HTTPError`.
    package func online(_ names: [CollectionID], client: ServerClient) async throws -> [SurveyedCollection] {
        let lock = try directory.lockFile(limits: limits)
        let settings = try configuration.selecting(names, file: directory.configurationPath)
        let (plan, _) = try await planned(settings, lock, client: client, isFull: false)
        return plan.map { planned in
            surveyed(
                planned.settings, planned.held, serverTimestamp: planned.serverTimestamp, action: planned.action)
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
            // A bundle that cannot be read is reported in its own right.
            excess: held.flatMap { held in
                try? settings.budget.excess(
                    of: held, in: BundleReader(path: directory.bundlePath(settings.id), limits: limits))
            })
    }

    /// The plan of a refresh, and the monitor's answer from which it was made.
    func planned(
        _ settings: [DumpsConfiguration.Collection], _ lock: LockFile, client: ServerClient, isFull: Bool,
        expected: Timestamp? = nil
    ) async throws -> (plan: [PlannedCollection], monitor: MonitorChangeset) {
        guard case .changes(let document, _) = try await client.monitor(expected: expected) else {
            throw DumpsError.emptyMonitor("\(client.server)")
        }
        let monitor = try Result { () throws(ChangesetError) in
            try MonitorChangeset(parsing: document.body, limits: limits)
        }.mapError { CollectionError.fetch(.changeset($0, url: "\(document.url)")) }.get()
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
    /// The settings of the named collections, or of all, and those of the catalogue.
    ///
    /// - Throws: ``DumpsError`` if a name is not configured, or if no collection is.
    func selecting(_ names: [CollectionID], file: String) throws(DumpsError) -> [Collection] {
        guard !names.isEmpty else {
            guard !collections.isEmpty else { throw .nothingConfigured(file) }
            return allCollections
        }
        let unknown = names.filter { name in !allCollections.contains { $0.id == name } }
        guard unknown.isEmpty else { throw .notConfigured(unknown, file) }
        return allCollections.filter { names.contains($0.id) }
    }
}

extension DumpsDirectory {
    /// Whether the current bundle contains exactly this snapshot.
    ///
    /// - Throws: `BundleError` if the bundle cannot be read.
    func isHeld(_ snapshot: Snapshot, _ planned: PlannedCollection, limits: Limits) throws(BundleError) -> Bool {
        guard let held = planned.held, held.timestamp == snapshot.timestamp,
            held.attachmentRule == planned.settings.attachments.text, diskState(planned.id, held) == .asLocked
        else { return false }
        return try BundleReader(path: bundlePath(planned.id), limits: limits).payloadText() == snapshot.payload.bytes
    }

    /// The state of a bundle's file, judged by its size and its first bytes.
    func diskState(_ id: CollectionID, _ held: LockFile.Collection?) -> RefreshPlanner.DiskState {
        let path = bundlePath(id)
        let size: Int
        do throws(FileError) {
            guard case .file(let found)? = try FileStore.kind(path) else { return .absent }
            size = found
        } catch {
            return .damaged("\(error)")
        }
        guard let held else { return .asLocked }
        guard size == held.bundle.size else {
            if (try? LargeFilePointer.isAt(path)) == true {
                return .damaged("its bundle is \(LargeFilePointer.name), which git lfs pull replaces by the bundle")
            }
            return .damaged("its bundle has \(size) bytes, but the lock says \(held.bundle.size)")
        }
        do throws(BundleError) {
            let head = try BundleHead.read(path: path)
            guard head.collection == id, head.timestamp == held.timestamp else {
                return .damaged(
                    "its bundle has \(head.collection) at \(head.timestamp), which is not what the lock says")
            }
            return .asLocked
        } catch {
            return .damaged("\(error)")
        }
    }
}
