import RemoteSettingsModel
import SnapshotBundle

/// An older bundle of a collection that was found but not opened. It is not verified yet.
package struct HistoricBundle: Sendable {
    /// The place of an older bundle.
    package enum Location: Hashable, Sendable, CustomStringConvertible {
        /// In a git repository, at a path relative to the dumps directory.
        case revision(GitRepository.Revision, path: String)
        case file(String)

        package var description: String {
            switch self {
            case .revision(let revision, let path): "git:\(revision.commit.prefix(12)):\(path)"
            case .file(let path): path
            }
        }
    }

    package let collection: CollectionID
    package let timestamp: Timestamp
    package let origin: Location
    /// The size in bytes.
    package let size: Int
    /// The bundle in a repository; `nil` for a file.
    let blob: (content: GitRepository.Blob, repository: GitRepository)?

    /// Returns the bundle's bytes. A file is mapped; a bundle from git is read into memory.
    package func contents() async throws(Failure) -> Bytes {
        if case .revision(let revision, let path) = origin, let blob {
            return try await blob.repository.contents(blob.content, of: path, at: revision)
        }
        return try mapFailure(of: try MappedFile(path: "\(origin)").bytes) { Failure.historic($0) }
    }

    /// Opens the bundle. A file is mapped; a bundle from git is read into memory.
    ///
    /// - Throws: ``Failure``, also if the file was replaced after it was found.
    package func open() async throws(Failure) -> BundleReader {
        let bytes = try await contents()
        let bundle = try BundleReader(bytes: bytes, name: name)
        guard bundle.head.collection == collection, bundle.head.timestamp == timestamp else {
            throw Failure(
                .damaged, file: bundle.name, expected: "\(collection) at \(timestamp)",
                found: "\(bundle.head.collection) at \(bundle.head.timestamp)")
        }
        return bundle
    }

    /// Returns the bundle's entry in the lock file that belongs to it.
    ///
    /// For a bundle from git, that is the lock file of the same commit. For a file `DIR/<bucket>/<collection>.zip`, it
    /// is `DIR/dumps.lock.json`.
    ///
    /// - Returns: `nil` if there is no lock file, or if its entry has a different size or hash than the bundle.
    /// - Throws: ``Failure``, also if the lock file exists but cannot be read.
    package func lockEntry() async throws(Failure) -> LockFile.Collection? {
        let lock: LockFile?
        if case .revision(let revision, _) = origin, let blob {
            lock = try await blob.repository.lock(at: revision)
        } else {
            lock = try neighbouringLock()
        }
        guard let entry = lock?.collections[collection], entry.timestamp == timestamp, entry.bundle.size == size else {
            return nil
        }
        return SHA256Digest(hashing: try await contents()) == entry.bundle.sha256 ? entry : nil
    }

    private func neighbouringLock() throws(Failure) -> LockFile? {
        let path = "\(FileStore.parent(of: FileStore.parent(of: "\(origin)")))/\(GitRepository.lockPath)"
        let text = try FileStore.read(path, limit: Limits.lockBytes)
        guard let text else { return nil }
        return try LockFile(parsing: text, path: path)
    }

    /// The bundle's name in messages.
    private var name: String {
        if case .revision(let revision, let path) = origin, let blob { return blob.repository.name(path, at: revision) }
        return "\(origin)"
    }
}
