import CMappedFaults
import ContentSignature
import Dumps
import FileStorage
import RemoteSettingsModel
import SnapshotBundle
import SnapshotHistory
import SnapshotOrigin

/// Makes the states of a dumps directory: reads the lock, and verifies each bundle against it before it is served.
///
/// A bundle stays mapped while it is served, although its file may be replaced. Where a file is shortened in place, all bundles
/// are read again. Where a bundle is not the one that the lock
/// names, because a refresh is at work or because it is damaged, the collection is served in its former state.
actor DumpsLoader {
    private struct Loaded {
        var entry: LockFile.Collection
        var collection: ServedCollection
    }

    private struct Refused {
        var entry: LockFile.Collection
        var file: FileIdentity?
        var problem: String
    }

    private let directory: DumpsDirectory
    private let history: BundleHistory?
    private let softwareVersion: String
    private let limits: Limits
    private let report: @Sendable (String) -> Void
    private var address: OriginAddress?
    private var loaded: [CollectionID: Loaded] = [:]
    private var lockSeen: FileIdentity?
    /// `mapped_faults_count` before the bundles were read that are known.
    private var faultsSeen: UInt = 0
    private var problems: [CollectionID: String] = [:]
    /// The bundles that were refused, so that they are not read again before something has changed.
    private var refused: [CollectionID: Refused] = [:]
    private var reading: Task<ServedState?, any Error>?
    /// Bytes of the older bundles that are in memory, because they come from git.
    private var historyBytes: [CollectionID: [Timestamp: Int]] = [:]

    /// - Parameters:
    ///   - history: where older states are looked for; `nil` for none.
    ///   - report: gets a line for each older bundle that cannot be used. What is served does not depend on it: a client
    ///     of that state gets the full list.
    init(
        _ directory: DumpsDirectory, history: BundleHistory?, softwareVersion: String, limits: Limits,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.directory = directory
        self.history = history
        self.softwareVersion = softwareVersion
        self.limits = limits
        self.report = report
    }

    /// The first state. Reads every byte of the bundles; no network.
    ///
    /// - Parameter address: where clients will reach what is served.
    /// - Throws: `FileError` or `BundleError` where the lock cannot be read.
    func begin(at address: OriginAddress) async throws -> ServedState {
        self.address = address
        return try await reload()
            ?? ServedState(
                origin: try Origin([], address: address, softwareVersion: softwareVersion), entries: [:], problems: [:],
                faults: faultsSeen, limits: limits.server)
    }

    /// The directory's state, where it is another one than was read last. Reads every byte of the bundles that are new.
    ///
    /// - Returns: `nil` where the lock is the one that was read last and nothing is left to be mended, and before
    ///   ``begin(at:)``.
    /// - Throws: `FileError` or `BundleError` where the lock cannot be read.
    func reload() async throws -> ServedState? {
        // One after another: while one waits for git, an actor takes the next call.
        let previous = reading
        let task = Task {
            _ = await previous?.result
            return try await self.read()
        }
        reading = task
        return try await task.value
    }

    private func read() async throws -> ServedState? {
        guard let address else { return nil }
        let faults = mapped_faults_count()
        if faults != faultsSeen {
            (loaded, refused, historyBytes, lockSeen) = ([:], [:], [:], nil)
            faultsSeen = faults
            report("a bundle was shortened while it was served; all bundles are read again")
        }
        let identity = try? FileStore.identity(directory.lockPath)
        if let lockSeen, lockSeen == identity, problems.isEmpty { return nil }
        let lock = try directory.recoveredLock(limits: limits).lock
        let before = problems
        problems = [:]
        var next: [CollectionID: Loaded] = [:]
        var hasChanged = lockSeen == nil || loaded.keys.contains { lock.collections[$0] == nil }
        for (id, entry) in lock.collections.sorted(by: { $0.key < $1.key }) {
            if let known = loaded[id], known.entry == entry {
                next[id] = known
                continue
            }
            let file = try? FileStore.identity(directory.bundlePath(id))
            if let known = refused[id], known.entry == entry, known.file == file {
                problems[id] = known.problem
                next[id] = loaded[id]
                continue
            }
            do {
                next[id] = Loaded(entry: entry, collection: try await open(id, entry, at: address))
                refused[id] = nil
                hasChanged = true
            } catch {
                problems[id] = "\(error)"
                refused[id] = Refused(entry: entry, file: file, problem: "\(error)")
                next[id] = loaded[id]
            }
        }
        lockSeen = identity
        loaded = next
        guard hasChanged || problems.keys != before.keys else { return nil }
        let origin = try Origin(
            next.values.map(\.collection), address: address, softwareVersion: softwareVersion, limits: limits)
        for conflict in origin.conflicts { report(conflict) }
        try origin.warmUp()
        return ServedState(
            origin: origin, entries: next.mapValues(\.entry), problems: problems, faults: faults, limits: limits.server)
    }

    private func open(
        _ id: CollectionID, _ entry: LockFile.Collection, at address: OriginAddress
    ) async throws -> ServedCollection {
        // Verified under the root that the lock names: whom to trust is each client's own decision.
        let signature = entry.trust.verdict
        let policy = TrustPolicy(
            roots: TrustAnchors(signature.map { [$0.root] } ?? []), signer: signature.map { SignerName($0.signer) })
        let path = directory.bundlePath(id)
        let bundle = try BundleVerifier(policy, limits: limits).verify(path, of: id, against: entry)
        return try ServedCollection(
            bundle, signature: signature, history: await older(id, before: entry.timestamp), address: address,
            limits: limits)
    }

    /// The older states that are known: those that were served, and what the history has now, which may have grown by
    /// states that were never served. Newest first.
    private func older(_ id: CollectionID, before timestamp: Timestamp) async -> [BundleReader] {
        var readers = loaded[id].map { [$0.collection.bundle] + $0.collection.history } ?? []
        readers.removeAll { $0.head.timestamp >= timestamp }
        if let history {
            do {
                try await find(id, before: timestamp, in: history, &readers)
            } catch {
                report("\(id): older states are not known: \(error)")
            }
        }
        readers.sort { $0.head.timestamp > $1.head.timestamp }
        let kept = Array(readers.prefix(limits.server.historyStates))
        let times = Set(kept.map(\.head.timestamp))
        historyBytes[id] = historyBytes[id]?.filter { times.contains($0.key) }
        return kept
    }

    private func find(
        _ id: CollectionID, before timestamp: Timestamp, in history: BundleHistory, _ readers: inout [BundleReader]
    ) async throws(HistoryError) {
        let listing = try await history.bundles(of: id)
        for problem in listing.unusable { report("\(id): an older state is not known: \(problem)") }
        var seen = Set(readers.map(\.head.timestamp))
        for bundle in listing.bundles where bundle.timestamp < timestamp {
            let newer = readers.count { $0.head.timestamp > bundle.timestamp }
            guard newer < limits.server.historyStates else { return }
            guard !seen.contains(bundle.timestamp) else { continue }
            var bytes: Int?
            if case .revision = bundle.origin {
                guard bundle.size <= limits.server.historyBytes - bytesInMemory else { continue }
                bytes = bundle.size
            }
            do {
                let reader = try await bundle.open()
                try reader.verifyContents()
                readers.append(reader)
                // Only now: where one copy of a state is damaged, another one may not be.
                seen.insert(bundle.timestamp)
                if let bytes { historyBytes[id, default: [:]][bundle.timestamp] = bytes }
            } catch {
                report("\(id): an older state is not known: \(error)")
            }
        }
    }

    private var bytesInMemory: Int { historyBytes.values.saturatingSum { $0.values.saturatingSum { $0 } } }
}
