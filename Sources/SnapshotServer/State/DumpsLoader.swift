import ContentSignature
import FileStorage
import RemoteSettingsModel
import SnapshotBuilder
import SnapshotBundle
import SnapshotHistory
import SnapshotOrigin

/// Makes states of a dumps directory: reads the lock, and verifies each bundle against it before it is served.
///
/// A bundle that is served stays mapped while it is, whatever becomes of its file. Where a bundle is not the one that the
/// lock names, because a refresh is at work or it is damaged, what was served before goes on.
public actor DumpsLoader {
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
    private var address: OriginAddress?
    private var loaded: [CollectionID: Loaded] = [:]
    private var lockSeen: FileIdentity?
    private var problems: [CollectionID: String] = [:]
    /// The bundles that were refused, so that they are not read again before something has changed.
    private var refused: [CollectionID: Refused] = [:]
    private var historyBytesLeft: Int

    /// - Parameter history: where older states are looked for; `nil` for none.
    public init(_ directory: DumpsDirectory, history: BundleHistory?, softwareVersion: String, limits: Limits) {
        self.directory = directory
        self.history = history
        self.softwareVersion = softwareVersion
        self.limits = limits
        historyBytesLeft = limits.server.historyBytes
    }

    /// The first state. Reads every byte of the bundles; no network.
    ///
    /// - Parameter address: where clients will reach what is served.
    /// - Throws: `FileError` or `BundleError` where the lock cannot be read.
    public func begin(at address: OriginAddress) async throws -> ServedState {
        self.address = address
        return try await reload()
            ?? ServedState(origin: try Origin([], address: address, softwareVersion: softwareVersion), entries: [:])
    }

    /// The directory's state, where it is another one than was read last. Reads every byte of the bundles that are new.
    ///
    /// - Returns: `nil` where the lock is the one that was read last and nothing is left to be mended, and before
    ///   ``begin(at:)``.
    /// - Throws: `FileError` or `BundleError` where the lock cannot be read.
    public func reload() async throws -> ServedState? {
        guard let address else { return nil }
        let identity = FileStore.identity(directory.lockPath)
        if let lockSeen, lockSeen == identity, problems.isEmpty { return nil }
        let lock = try directory.lockFile(limits: limits)
        let before = problems
        problems = [:]
        var next: [CollectionID: Loaded] = [:]
        var hasChanged = lockSeen == nil || loaded.keys.contains { lock.collections[$0] == nil }
        for (id, entry) in lock.collections.sorted(by: { $0.key < $1.key }) {
            if let known = loaded[id], known.entry == entry {
                next[id] = known
                continue
            }
            let file = FileStore.identity(directory.bundlePath(id))
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
        try origin.warmUp()
        return ServedState(origin: origin, entries: next.mapValues(\.entry), problems: problems)
    }

    private func open(
        _ id: CollectionID, _ entry: LockFile.Collection, at address: OriginAddress
    ) async throws -> ServedCollection {
        // Verified under the root that the lock names: whom to trust is each client's own decision.
        var roots: [SHA256Digest] = []
        var signer: String?
        var signature: LockFile.Signature?
        if case .signed(let signed) = entry.trust {
            roots = [signed.root]
            signer = signed.signer
            signature = signed
        }
        let path = directory.bundlePath(id)
        let bundle = try BundleReader(path: path, limits: limits)
        try BundleVerifier(roots: TrustAnchors(roots), signer: signer, limits: limits).verify(path, id, entry)
        // The file that was verified must be the one that was opened: a refresh may have replaced it in between.
        guard Manifest.digest(of: try bundle.manifestText()) == entry.content else {
            throw BundleError(
                .disagreement, file: path, expected: "content \(entry.content), as the lock says", found: "another")
        }
        var older: [BundleReader] = []
        if let known = loaded[id]?.collection {
            older = [known.bundle] + known.history
        } else {
            older = try await found(id)
        }
        return try ServedCollection(
            bundle, signature: signature, history: Array(older.prefix(limits.server.historyStates)), address: address,
            limits: limits)
    }

    private func found(_ id: CollectionID) async throws -> [BundleReader] {
        guard let history else { return [] }
        var readers: [BundleReader] = []
        var seen: Set<Timestamp> = []
        for bundle in try await history.bundles(of: id).bundles where readers.count < limits.server.historyStates {
            guard seen.insert(bundle.timestamp).inserted else { continue }
            if case .revision = bundle.origin {
                guard bundle.size <= historyBytesLeft else { break }
                historyBytesLeft -= bundle.size
            }
            let reader = try await bundle.open()
            try reader.verifyContents()
            readers.append(reader)
        }
        return readers
    }
}
