import RemoteSettingsModel
import SnapshotBundle

extension HistoricBundle {
    /// Finds the bundle of a collection in a commit; returns `nil` if the commit does not contain it. Runs git.
    ///
    /// - Parameters:
    ///   - name: a tag, a branch or another name of a commit.
    ///   - directory: the dumps directory, which may be missing now.
    /// - Throws: ``Failure``, also if the name does not refer to a commit, or if the file is not a bundle.
    package init?(of collection: CollectionID, at name: String, in directory: String) async throws(Failure) {
        let path = LockFile.Bundle.path(of: collection)
        let (repository, revision, _) = try await GitRepository.finding(path, of: directory, at: name)
        guard let blob = try await repository.blobs([path], at: [revision]).first ?? nil else { return nil }
        let bytes = try await repository.contents(blob, of: path, at: revision)
        let head = try BundleHead.read(bytes, name: repository.name(path, at: revision))
        self.init(
            collection: collection, timestamp: head.timestamp, origin: .revision(revision, path: path), size: blob.size,
            blob: (blob, repository))
    }
}

/// A copy of the dumps directory of a commit, in a temporary directory that is deleted with the last reference to it.
package struct CommittedDumps: Sendable {
    /// The place as a string that ``DiffSide/Place`` accepts, for messages.
    package let name: String
    package var path: String { copy.path }
    /// The commits up to this one.
    package var history: BundleHistory { BundleHistory([.git(repository, upTo: revision)]) }

    private let copy: TemporaryDirectory
    private let repository: GitRepository
    private let revision: GitRepository.Revision

    /// Copies the files that a dumps directory may contain: the lock file, its bundles, `dumps.yaml` and files such as
    /// `.gitattributes`. Any other file is copied without its content, so that a check for unexpected files finds it.
    /// Runs git, and does I/O.
    ///
    /// - Parameters:
    ///   - name: a tag, a branch or another name of a commit.
    ///   - directories: the possible dumps directories, which may be missing now. The first one that the commit has is
    ///     copied.
    /// - Throws: ``Failure``, also if the commit contains no dumps at these paths, or `Failure`.
    package init(_ name: String, of directories: [String]) async throws {
        var found: (repository: GitRepository, revision: GitRepository.Revision)?
        for directory in directories where found == nil {
            // A target may be outside of the repository.
            let known = try? await GitRepository(containing: directory).revision(name)
            if known == nil, directory != directories.last { continue }
            let (repository, revision, isFound) = try await GitRepository.finding(
                GitRepository.lockPath, of: directory, at: name)
            if isFound { found = (repository, revision) }
        }
        guard let (repository, revision) = found, let lock = try await repository.lock(at: revision) else {
            let files = directories.map { "\($0)/\(GitRepository.lockPath)" }.joined(separator: " and no ")
            throw Failure.notComparable(
                "git:\(name): this commit has no \(files); find a commit that has one with: git log -- "
                    + directories.joined(separator: " "))
        }
        self.name = "git:\(name):\(repository.directory)"
        (self.repository, self.revision) = (repository, revision)
        copy = try TemporaryDirectory()
        let bundles = Set(lock.collections.values.map(\.bundle.path))
        for (file, isRegular) in try await repository.files(at: revision) where !file.utf8.starts(with: ".rsdump/".utf8)
        {
            guard GitRepository.isBelow(file) else {
                throw Failure.notComparable(
                    "\(self.name): this commit has a file with an invalid name, \(VisibleText.quote(file)); use a "
                        + "different commit")
            }
            let path = "\(copy.path)/\(file)"
            let isKnown = bundles.contains(file) || DumpsDirectory.isAllowed(file)
            guard isRegular else {
                // A link, for example, is never allowed. A folder in its place is not either.
                try FileStore.makeDirectories(path, below: copy.path)
                continue
            }
            let bytes = isKnown ? try await repository.file(file, at: revision) : nil
            try FileStore.makeDirectories(FileStore.parent(of: path), below: copy.path)
            try FileStore.replace(path, below: copy.path, with: bytes ?? Bytes(), flushing: false)
        }
    }
}
