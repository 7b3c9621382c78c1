import RemoteSettingsModel
import SnapshotBundle

extension HistoricBundle {
    /// Finds the bundle of a collection in a commit; returns `nil` if the commit does not contain it. Runs git.
    ///
    /// - Parameter name: a tag, a branch or another name of a commit.
    /// - Throws: ``DumpsError``, also if the name does not refer to a commit, or if the file is not a bundle.
    package init?(
        of collection: CollectionID, at name: String, in repository: GitRepository, limits: Limits = Limits()
    ) async throws(DumpsError) {
        let path = LockFile.Bundle.path(of: collection)
        let revision = try await repository.revision(name)
        guard let blob = try await repository.blobs([path], at: [revision]).first ?? nil else { return nil }
        let bytes = try await repository.contents(blob, of: path, at: revision)
        let head = try Result { () throws(BundleError) in
            try BundleHead.read(bytes, name: repository.name(path, at: revision))
        }.mapError(DumpsError.bundle).get()
        self.init(
            collection: collection, timestamp: head.timestamp, origin: .revision(revision, path: path), size: blob.size,
            blob: (blob, repository), limits: limits)
    }
}

extension DumpsDirectory {
    /// Writes the dumps directory of a commit to a temporary directory: the lock file, its bundles and `dumps.yaml`.
    /// Runs git, and does I/O.
    ///
    /// - Parameters:
    ///   - name: a tag, a branch or another name of a commit.
    ///   - directory: the dumps directory in the work tree.
    /// - Returns: the copy. It is deleted when nothing refers to it any more.
    /// - Throws: ``DumpsError``, also if the commit contains no dumps at this path, or `BundleError`.
    package static func checkOut(
        _ name: String, of directory: String, limits: Limits = Limits()
    ) async throws -> TemporaryDirectory {
        let repository = try await GitRepository(containing: directory, limits: limits)
        let revision = try await repository.revision(name)
        guard let lock = try await repository.lock(at: revision) else {
            throw DumpsError.notComparable(
                "git:\(name): this commit has no \(directory)/dumps.lock.json; find a commit that has one with: git "
                    + "log -- \(directory)")
        }
        let copy = try TemporaryDirectory()
        let files = ["dumps.yaml", "dumps.lock.json"] + lock.collections.values.map(\.bundle.path).sorted()
        for file in files {
            guard let bytes = try await repository.file(file, at: revision) else { continue }
            let path = "\(copy.path)/\(file)"
            try FileStore.makeDirectories(FileStore.parent(of: path), below: copy.path)
            try FileStore.replace(path, below: copy.path, with: bytes, flushing: false)
        }
        return copy
    }
}
