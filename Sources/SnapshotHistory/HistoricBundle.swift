import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// An older bundle of a collection, found but not opened. Nothing in it is verified yet.
package struct HistoricBundle: Sendable {
    /// Where an older bundle is.
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

    enum Place: Sendable {
        case blob(GitRepository.Blob, GitRepository)
        case file
    }

    package let collection: CollectionID
    package let timestamp: Timestamp
    package let origin: Location
    /// Bytes.
    package let size: Int
    let place: Place
    let limits: Limits

    /// The bundle's bytes: of a file, mapped; from git, read into memory.
    package func contents() async throws(HistoryError) -> Bytes {
        if case .revision(let revision, let path) = origin, case .blob(let blob, let repository) = place {
            return try await repository.contents(blob, of: path, at: revision)
        }
        return try Result { () throws(BundleError) in try MappedFile(path: "\(origin)").bytes }
            .mapError(HistoryError.bundle).get()
    }

    /// Opens the bundle: from a file, mapped; from git, read into memory.
    ///
    /// - Throws: ``HistoryError``, also where the file has been replaced since it was found.
    package func open() async throws(HistoryError) -> BundleReader {
        let bytes = try await contents()
        let bundle = try Result { () throws(BundleError) in
            try BundleReader(bytes: bytes, name: name, limits: limits)
        }.mapError(HistoryError.bundle).get()
        guard bundle.head.collection == collection, bundle.head.timestamp == timestamp else {
            throw .bundle(
                BundleError(
                    .disagreement, file: bundle.name, expected: "\(collection) at \(timestamp)",
                    found: "\(bundle.head.collection) at \(bundle.head.timestamp)"))
        }
        return bundle
    }

    /// The bundle's entry in its own lock: for a bundle from git, the lock of the same commit; for a file
    /// `DIR/<bucket>/<collection>.zip`, the lock `DIR/dumps.lock.json`.
    ///
    /// - Returns: `nil` where there is no lock, or where its entry describes another bundle: size and hash are compared with
    ///   the bundle's bytes.
    /// - Throws: ``HistoryError``, also where the lock exists but cannot be read.
    package func lockEntry() async throws(HistoryError) -> LockFile.Collection? {
        let lock: LockFile?
        switch (origin, place) {
        case (.revision(let revision, _), .blob(_, let repository)): lock = try await repository.lock(at: revision)
        default: lock = try neighbouringLock()
        }
        guard let entry = lock?.collections[collection], entry.timestamp == timestamp, entry.bundle.size == size else {
            return nil
        }
        return SHA256Digest(hashing: try await contents()) == entry.bundle.sha256 ? entry : nil
    }

    private func neighbouringLock() throws(HistoryError) -> LockFile? {
        let path = "\(FileStore.parent(of: FileStore.parent(of: "\(origin)")))/\(GitRepository.lockPath)"
        let text = try Result { () throws(FileError) in try FileStore.read(path, limit: limits.lockBytes) }
            .mapError(HistoryError.file).get()
        guard let text else { return nil }
        return try Result { () throws(BundleError) in try LockFile(parsing: text, path: path, limits: limits) }
            .mapError(HistoryError.bundle).get()
    }

    /// The bundle's name in messages.
    private var name: String {
        if case .revision(let revision, let path) = origin, case .blob(_, let repository) = place {
            return repository.name(path, at: revision)
        }
        return "\(origin)"
    }
}
