import Dumps
import RemoteSettingsModel
import SnapshotBundle
import SnapshotDiff
import SnapshotHistory

/// A side of a comparison, opened: which collections it has, and how one of them is read.
struct DiffSide {
    private enum Source {
        case bundle(BundleReader)
        case directory(DumpsDirectory, LockFile)
        case revision(GitRepository, GitRepository.Revision, LockFile)
        case server([CollectionID: Snapshot])
    }

    private let source: Source

    /// The one collection of a side that is a bundle.
    var onlyCollection: CollectionID? {
        if case .bundle(let bundle) = source { bundle.head.collection } else { nil }
    }

    var collections: Set<CollectionID> {
        switch source {
        case .bundle(let bundle): [bundle.head.collection]
        case .directory(_, let lock), .revision(_, _, let lock): Set(lock.collections.keys)
        case .server(let snapshots): Set(snapshots.keys)
        }
    }

    /// A bundle or a directory of dumps. Does I/O.
    ///
    /// - Throws: ``CommandFailure`` where there is neither, `BundleError` or `FileError`.
    init(path: String) throws {
        guard TextFile.isDirectory(path) else {
            guard TextFile.exists(path) else {
                throw CommandFailure(
                    .usage,
                    "\(path): there is neither a bundle nor a directory of dumps; another commit's is git:REV, "
                        + "and what the server has is server")
            }
            source = .bundle(try BundleReader(path: path, limits: Limits()))
            return
        }
        let directory = DumpsDirectory(path)
        let lock = try directory.lockFile(limits: Limits())
        guard try !lock.collections.isEmpty || directory.configurationText() != nil else {
            throw CommandFailure(
                .usage, "\(path): expected a directory of dumps, found neither dumps.lock.json nor dumps.yaml in it")
        }
        source = .directory(directory, lock)
    }

    /// What a commit has at a path of a work tree: a directory of dumps, or a bundle. Runs git.
    ///
    /// - Throws: `HistoryError`, ``CommandFailure`` where the commit has no such bundle.
    init(revision name: String, path: String) async throws {
        if path.hasSuffix(".zip") {
            let parts = path.split(separator: "/", omittingEmptySubsequences: false)
            let folder = parts.count == 1 ? "." : parts.dropLast().joined(separator: "/")
            let repository = try await GitRepository(containing: folder.isEmpty ? "/" : folder)
            let revision = try await repository.revision(name)
            guard let bytes = try await repository.file(String(parts[parts.count - 1]), at: revision) else {
                throw CommandFailure(
                    .usage, "git:\(name): this commit has no \(path); git log -- \(path) shows which do")
            }
            source = .bundle(try BundleReader(bytes: bytes, name: "git:\(name):\(path)", limits: Limits()))
            return
        }
        let repository = try await GitRepository(containing: path)
        let revision = try await repository.revision(name)
        let lock = try await repository.lock(at: revision)
        if lock == nil { Console.error("note: git:\(name) has no \(path)/dumps.lock.json; it counts as empty") }
        source = .revision(repository, revision, lock ?? LockFile())
    }

    /// What the server answered.
    init(server snapshots: [CollectionID: Snapshot]) {
        source = .server(snapshots)
    }

    /// The state of one collection; `nil` where the side does not have it.
    ///
    /// - Throws: `BundleError`, `HistoryError` or `ChangesetError` where it cannot be read.
    func state(of id: CollectionID) async throws -> ComparedSnapshot? {
        switch source {
        case .bundle(let bundle): return bundle.head.collection == id ? try ComparedSnapshot(bundle) : nil
        case .server(let snapshots): return snapshots[id].map { ComparedSnapshot($0) }
        case .directory(let directory, let lock):
            guard let entry = lock.collections[id] else { return nil }
            let bundle = try BundleReader(path: directory.bundlePath(id), limits: Limits())
            return try ComparedSnapshot(bundle, signer: entry.signer)
        case .revision(let repository, let revision, let lock):
            guard let entry = lock.collections[id] else { return nil }
            guard let bytes = try await repository.file(entry.bundle.path, at: revision) else {
                throw BundleError(
                    .missing, file: "git:\(revision.commit.prefix(12)):\(entry.bundle.path)",
                    expected: "the bundle that this commit's lock names", found: "none")
            }
            let bundle = try BundleReader(
                bytes: bytes, name: "git:\(revision.commit.prefix(12)):\(entry.bundle.path)", limits: Limits())
            return try ComparedSnapshot(bundle, signer: entry.signer)
        }
    }

    /// Whether both sides are known to hold the same bundle without reading the older one out of git.
    func isSameBundle(of id: CollectionID, as other: DiffSide) throws -> Bool {
        guard let mine = try bundleHash(of: id), let others = try other.bundleHash(of: id) else { return false }
        return mine == others
    }

    /// The bundle's SHA-256: of a commit, as its lock says; of a directory, that of the file; `nil` where it is not as cheap.
    private func bundleHash(of id: CollectionID) throws -> SHA256Digest? {
        switch source {
        case .revision(_, _, let lock): return lock.collections[id]?.bundle.sha256
        case .directory(let directory, let lock):
            guard lock.collections[id] != nil else { return nil }
            return try directory.bundleHash(id)
        case .bundle, .server: return nil
        }
    }
}

extension LockFile.Collection {
    fileprivate var signer: String? {
        trust.verdict?.signer
    }
}
