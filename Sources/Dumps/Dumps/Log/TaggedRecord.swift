import RemoteSettingsModel
import SnapshotBundle

/// A value of a record, and the tags whose commits contain it.
package struct TaggedRecord: Sendable {
    package let collection: CollectionID
    /// The names of the tags, sorted.
    package let tags: [String]
    package let record: Record

    /// The result of a search.
    package struct Search: Sendable {
        /// Each distinct value of the record, sorted by collection and tags.
        package var found: [TaggedRecord] = []
        /// The reasons that tags or values may be missing, and remedies.
        package var gaps: [String] = []
    }

    /// Finds a record in the tags' commits, in every collection that their lock files list. Runs git, and verifies
    /// nothing.
    ///
    /// - Parameters:
    ///   - directory: the dumps directory.
    ///   - unusable: a closure that is called with the error for each lock file or bundle that cannot be read and is
    ///     skipped.
    /// - Throws: ``Failure``
    package static func search(
        for id: String, inTagsOf directory: String, unusable: (any Error) -> Void
    ) async throws(Failure) -> Search {
        let repository = try await GitRepository(containing: directory)
        let locks = try await repository.tags(of: GitRepository.lockPath)
        var search = Search(gaps: [repository.gap, locks.gap].compactMap(\.self))
        if let one = locks.others.last {
            search.gaps.append(
                "\(Counted.text(locks.others.count, "tag")), such as \(one), "
                    + "\(Counted.noun(locks.others.count, "has", plural: "have")) no "
                    + "\(directory)/\(GitRepository.lockPath); if the directory was moved, give its former path with "
                    + "--dumps")
        }
        for collection in try await collections(in: repository, locks.files, unusable).sorted() {
            let path = LockFile.Bundle.path(of: collection)
            var tags: [Bytes: (record: Record, tags: [String])] = [:]
            for (bundle, names) in try await repository.tags(of: path).files {
                let place = "git:\(names[0]):\(directory)/\(path)"
                try repository.check(bundle, at: place)
                try await repository.read([bundle]) { _, bytes in
                    do {
                        let reader = try BundleReader(bytes: bytes, name: place)
                        guard let record = try reader.payload().records.record(id: id) else { return }
                        tags[record.json, default: (record, [])].tags += names
                    } catch {
                        unusable(error)
                    }
                }
            }
            search.found += tags.values.map {
                TaggedRecord(collection: collection, tags: $0.tags.sorted(), record: $0.record)
            }
            .sorted { $0.tags.lexicographicallyPrecedes($1.tags) }
        }
        return search
    }

    private static func collections(
        in repository: GitRepository, _ locks: [GitRepository.Blob: [String]], _ unusable: (any Error) -> Void
    ) async throws(Failure) -> Set<CollectionID> {
        var collections: Set<CollectionID> = []
        try await repository.read(Set(locks.keys.filter { $0.size <= Limits.lockBytes })) { lock, text in
            do {
                let place = "git:\(locks[lock]?.first ?? ""):\(repository.directory)/\(GitRepository.lockPath)"
                collections.formUnion(try LockFile(parsing: text, path: place).collections.keys)
            } catch {
                unusable(error)
            }
        }
        return collections
    }
}

extension TaggedRecord: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "collection": collection, "tags": tags, "record": try JSONValue(parsing: record.json),
        ])
    }
}
