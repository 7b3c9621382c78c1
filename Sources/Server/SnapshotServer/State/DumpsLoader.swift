import CMappedFaults
import Dumps
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin
import DumpsExchange

/// Loads the states of a dumps directory: reads the lock file, and verifies each bundle against it before the bundle is
/// served.
///
/// A bundle stays mapped while it is served, even if its file is replaced. If a file is truncated in place, all bundles
/// are read again. If a bundle does not match the lock file, a refresh may be running, or the bundle is damaged. The
/// server then keeps serving the previous state of that collection.
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
    /// A cache for deltas of attachments, shared by all states.
    private let deltas = MadeDeltas()
    private let serverLimits: ServerLimits
    private let report: @Sendable (String) -> Void
    private var address: OriginAddress?
    private var loaded: [CollectionID: Loaded] = [:]
    private var lockSeen: FileIdentity?
    /// The value of `mapped_faults_count` before the loaded bundles were read.
    private var faultsSeen: UInt = 0
    private var problems: [CollectionID: String] = [:]
    /// The bundles that were refused. Each is read again only if its file or its entry in the lock file has changed.
    private var refused: [CollectionID: Refused] = [:]
    private var reading: Task<ServedState?, any Error>?
    /// The size in bytes of each older bundle that is in memory because it comes from git.
    private var historyBytes: [CollectionID: [Timestamp: Int]] = [:]

    /// Creates a loader.
    ///
    /// - Parameters:
    ///   - history: the places with older states; `nil` to offer no deltas from older states.
    ///   - report: called with one line for each problem that does not prevent serving, such as an older bundle that
    ///     cannot be used. A client with that state then gets the full list.
    init(
        _ directory: DumpsDirectory, history: BundleHistory?, softwareVersion: String, limits: ServerLimits,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.directory = directory
        self.history = history
        self.softwareVersion = softwareVersion
        serverLimits = limits
        self.report = report
    }

    /// Loads the first state. Reads every byte of the bundles; uses no network.
    ///
    /// - Parameter address: the address at which clients will reach the server.
    /// - Throws: `Failure` if the lock file cannot be read.
    func begin(at address: OriginAddress) async throws -> ServedState {
        self.address = address
        return try await reload()
            ?? ServedState(
                origin: try Origin([], address: address, softwareVersion: softwareVersion), entries: [:], problems: [:],
                faults: faultsSeen, limits: serverLimits)
    }

    /// Loads the directory's new state, if it has changed since it was last read. Reads every byte of the new bundles.
    ///
    /// - Returns: `nil` if the state to serve has not changed, or if ``begin(at:)`` has not been called.
    /// - Throws: `Failure` if the lock file cannot be read.
    func reload() async throws -> ServedState? {
        // Serialize the reads explicitly: an actor accepts the next call while this one waits for git.
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
            report("a bundle was truncated while it was served; reloading all bundles")
        }
        var identity = try? FileStore.identity(directory.lockPath, followsLinks: true)
        if let lockSeen, lockSeen == identity, problems.isEmpty { return nil }
        guard identity != nil || loaded.isEmpty else { throw Failure.nothingLocked(directory.lockPath) }
        let before = problems
        var (lock, staged) = try directory.readableLock()
        var found = try await collections(of: lock, staged, at: address)
        // A refresh may have finished in the meantime and replaced bundles, so read again. The number of attempts is
        // limited, because one refresh may follow the next.
        for _ in 0..<5 where !problems.isEmpty {
            let present = try? FileStore.identity(directory.lockPath, followsLinks: true)
            let again = try directory.readableLock()
            guard again.lock != lock else { break }
            (identity, lock, staged) = (present, again.lock, again.staged)
            found = try await collections(of: lock, staged, at: address)
        }
        let (next, hasChanged) = found
        lockSeen = identity
        loaded = next
        guard hasChanged || problems.keys != before.keys else { return nil }
        let origin = try Origin(
            next.values.map(\.collection), address: address, softwareVersion: softwareVersion,
            deltas: deltas)
        for conflict in origin.conflicts { report(conflict) }
        try origin.warmUp()
        return ServedState(
            origin: origin, entries: next.mapValues(\.entry), problems: problems, faults: faults, limits: serverLimits)
    }

    /// Reads the bundles of a lock file that are not loaded yet, and sets ``problems``.
    private func collections(
        of lock: LockFile, _ staged: Set<CollectionID>, at address: OriginAddress
    ) async throws -> (next: [CollectionID: Loaded], hasChanged: Bool) {
        problems = [:]
        var next: [CollectionID: Loaded] = [:]
        var hasChanged = lockSeen == nil || loaded.keys.contains { lock.collections[$0] == nil }
        for (id, entry) in lock.collections.sorted(by: { $0.key < $1.key }) {
            if let known = loaded[id], known.entry == entry {
                next[id] = known
                continue
            }
            let file = try? FileStore.identity(directory.bundlePath(id), followsLinks: true)
            if let known = refused[id], known.entry == entry, known.file == file {
                problems[id] = known.problem
                next[id] = loaded[id]
                continue
            }
            do {
                next[id] = Loaded(
                    entry: entry, collection: try await open(id, entry, isStaged: staged.contains(id), at: address))
                refused[id] = nil
                hasChanged = true
            } catch {
                problems[id] = "\(error)"
                refused[id] = Refused(entry: entry, file: file, problem: "\(error)")
                next[id] = loaded[id]
            }
        }
        return (next, hasChanged)
    }

    private func open(
        _ id: CollectionID, _ entry: LockFile.Collection, isStaged: Bool, at address: OriginAddress
    ) async throws -> ServedCollection {
        // Use the root from the lock file, because each client decides for itself which roots it trusts.
        let signature = entry.trust.verdict
        let policy = TrustPolicy(
            roots: TrustAnchors(signature.map { [$0.root] } ?? []), signer: signature.map { SignerName($0.signer) })
        let verifier = BundleVerifier(policy)
        // A refresh that is committing right now may have renamed the bundle from this path to its final one.
        let atPack = isStaged ? try? verifier.verify(directory.packPath(id), of: id, against: entry) : nil
        let bundle = try atPack ?? verifier.verify(directory.bundlePath(id), of: id, against: entry)
        return try ServedCollection(
            bundle, signature: signature, history: await older(id, before: entry.timestamp), address: address)
    }

    /// Returns the older states, newest first: those that were served, and those in the history, which may contain
    /// states that were never served.
    ///
    /// A `git pull` moves the branch after it has written the files. Until the next change, a state of the pulled
    /// commits that was never served may therefore be unknown, and a client that has it gets the full list.
    private func older(_ id: CollectionID, before timestamp: Timestamp) async -> [BundleReader] {
        var readers = loaded[id].map { [$0.collection.bundle] + $0.collection.history } ?? []
        readers.removeAll { $0.head.timestamp >= timestamp }
        if let history {
            do {
                try await find(id, before: timestamp, in: history, &readers)
            } catch {
                report("\(id): older states cannot be read: \(error)")
            }
        }
        readers.sort { $0.head.timestamp > $1.head.timestamp }
        let kept = Array(readers.prefix(serverLimits.historyStates))
        let times = Set(kept.map(\.head.timestamp))
        historyBytes[id] = historyBytes[id]?.filter { times.contains($0.key) }
        return kept
    }

    private func find(
        _ id: CollectionID, before timestamp: Timestamp, in history: BundleHistory, _ readers: inout [BundleReader]
    ) async throws(Failure) {
        let listing = try await history.bundles(of: id)
        for problem in listing.unusable { report("\(id): an older state cannot be used: \(problem)") }
        var seen = Set(readers.map(\.head.timestamp))
        for bundle in listing.bundles where bundle.timestamp < timestamp {
            let newer = readers.count { $0.head.timestamp > bundle.timestamp }
            guard newer < serverLimits.historyStates else { return }
            guard !seen.contains(bundle.timestamp) else { continue }
            var bytes: Int?
            if case .revision = bundle.origin {
                guard bundle.size <= serverLimits.historyBytes - bytesInMemory else { continue }
                bytes = bundle.size
            }
            do {
                let reader = try await bundle.open()
                try reader.verifyContents()
                readers.append(reader)
                // Record the state only after it was read successfully: if this copy of it is damaged, another one may
                // be intact.
                seen.insert(bundle.timestamp)
                if let bytes { historyBytes[id, default: [:]][bundle.timestamp] = bytes }
            } catch {
                report("\(id): an older state cannot be used: \(error)")
            }
        }
    }

    private var bytesInMemory: Int { historyBytes.values.saturatingSum { $0.values.saturatingSum { $0 } } }
}
