import RemoteSettingsModel
import SnapshotBundle

/// The changes of a collection from each stored state to the next, in the commits of a dumps directory or in copies of
/// its bundles. Nothing is verified, because the certificates of old states may have expired.
package struct CollectionLog: Sendable {
    /// One state, and its differences from the previous one.
    package struct Entry: Sendable {
        /// The commit or the file that contains the state.
        let place: HistoricBundle.Location
        /// The tags whose commits contain the state, sorted; empty unless they were requested.
        package let tags: [String]
        package let diff: SnapshotDiff
        /// The changed records that were requested, in the order of ids.
        package let changes: [RecordChange]

        /// The time of the commit; `nil` for a file.
        package var committed: Timestamp? {
            if case .revision(let revision, _) = place { revision.time } else { nil }
        }
    }

    /// A stored state. It has no bundle if a commit removed the collection.
    private struct Version {
        let place: HistoricBundle.Location
        let blob: GitRepository.Blob?
        let copy: HistoricBundle?
    }

    private let collection: CollectionID
    private let repository: GitRepository?
    private let versions: [Version]
    private let tags: GitRepository.Tags?
    /// The files that look like bundles but cannot be read.
    package private(set) var unusable: [Failure] = []

    /// The reason that older states may be missing, and the remedy; `nil` if all are there.
    package var gap: String? { repository?.gap ?? tags?.gap }

    /// Finds the states in the commits up to `HEAD`. Runs git.
    ///
    /// - Parameter withTags: whether to find the tags that contain each state.
    /// - Throws: ``Failure``
    package init(
        of collection: CollectionID, inCommitsOf directory: String, withTags: Bool = false
    ) async throws(Failure) {
        self.collection = collection
        let repository = try await GitRepository(containing: directory)
        let path = LockFile.Bundle.path(of: collection)
        let revisions = try await repository.revisions(touching: path)
        let blobs = try await repository.blobs([path], at: revisions)
        var versions: [Version] = []
        for (revision, blob) in zip(revisions, blobs) {
            // With merges, two consecutive commits can have the same state. Keep the older one, which introduced it.
            if let last = versions.last, last.blob == blob { versions.removeLast() }
            versions.append(Version(place: .revision(revision, path: path), blob: blob, copy: nil))
        }
        self.versions = versions
        self.repository = repository
        tags = withTags ? try await repository.tags(of: path) : nil
    }

    /// Finds the states in folders of bundles, and sorts them by timestamp. Does I/O.
    package init(of collection: CollectionID, inFolders folders: [String]) async throws(Failure) {
        self.collection = collection
        let listing = try await BundleHistory(folders.map(BundleHistory.Source.path))
            .bundles(of: collection)
        versions = listing.bundles.map { Version(place: $0.origin, blob: nil, copy: $0) }
        unusable = listing.unusable
        repository = nil
        tags = nil
    }

    /// Calls `visit` for each change, newest first, until it returns `false`. At most two states are in memory at once.
    ///
    /// - Parameters:
    ///   - record: the id of the record whose changes to report; `nil` for all.
    ///   - field: the field whose changes to report, as a dot-separated path; `nil` for all.
    ///   - unusable: a closure that is called with the error if a bundle cannot be read. The states before and after it
    ///     are then compared with each other.
    /// - Throws: ``Failure`` if git fails, and the errors of `visit`.
    package func forEach(
        record: String? = nil, field: String? = nil, unusable: (any Error) -> Void, _ visit: (Entry) throws -> Bool
    ) async throws {
        var contents: [GitRepository.Blob: Bytes] = [:]
        var newer: (version: Version, state: ComparedSnapshot?)?
        // The tags of a state without a reported change are reported with the change before it.
        var waiting: Set<ExactString> = []
        for position in 0...versions.count {
            var older: ComparedSnapshot?
            do {
                if position < versions.count { older = try await state(at: position, &contents) }
            } catch let error as Failure where FailureClass(error) == .bundle {
                unusable(error)
                continue
            }
            if let newer {
                waiting.formUnion(newer.version.blob.flatMap { tags?.files[$0] }?.map(\.exact) ?? [])
                if let diff = SnapshotDiff(from: older, to: newer.state), diff.status != .same,
                    let changes = diff.changes(of: record, field: field)
                {
                    let tags = waiting.sorted().map(\.string)
                    waiting = []
                    guard try visit(Entry(place: newer.version.place, tags: tags, diff: diff, changes: changes))
                    else { return }
                }
            }
            if position < versions.count { newer = (versions[position], older) }
        }
    }

    private func state(
        at position: Int, _ contents: inout [GitRepository.Blob: Bytes]
    ) async throws -> ComparedSnapshot? {
        let version = versions[position]
        if let copy = version.copy { return try ComparedSnapshot(await copy.open()) }
        guard let blob = version.blob, let repository else { return nil }
        if contents[blob] == nil { contents = try await read(from: position, repository) }
        guard let bytes = contents[blob] else { return nil }
        return try ComparedSnapshot(BundleReader(bytes: bytes, name: "\(version.place)"))
    }

    /// Reads the next bundles, as many as one git process returns at once.
    private func read(
        from position: Int, _ repository: GitRepository
    ) async throws(Failure) -> [GitRepository.Blob: Bytes] {
        var wanted: Set<GitRepository.Blob> = []
        var size = 0
        for blob in versions[position...].lazy.compactMap(\.blob) where !wanted.contains(blob) {
            size = size.saturatingAdding(blob.size)
            guard wanted.isEmpty || size <= GitRepository.chunkBytes else { break }
            try repository.check(blob, at: "\(versions[position].place)")
            wanted.insert(blob)
        }
        var contents: [GitRepository.Blob: Bytes] = [:]
        try await repository.read(wanted) { contents[$0] = $1 }
        return contents
    }
}

extension SnapshotDiff {
    /// Returns the changed records to report; `nil` if a record or field was requested that has no changes.
    fileprivate func changes(of record: String?, field: String?) -> [RecordChange]? {
        guard record != nil || field != nil else { return Array(records) }
        let found = records.filter { change in
            guard record == nil || change.id == record else { return false }
            return field.map { field in !change.fields { $0.isInside(field) }.isEmpty } ?? true
        }
        return found.isEmpty ? nil : found
    }
}
