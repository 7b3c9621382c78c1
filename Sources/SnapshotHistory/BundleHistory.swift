import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// The older bundles of collections that can be had: from git repositories, folders and single files.
package struct BundleHistory: Sendable {
    package enum Source: Sendable {
        /// The commits that lead to `HEAD`.
        case git(GitRepository)
        /// A bundle, or a folder of bundles at any depth, whatever their names are: each is known by its manifest. Hidden
        /// folders and links are passed over.
        case path(String)
    }

    /// What was found of one collection.
    package struct Listing: Sendable {
        /// Newest data first; of the same data, in the order of the sources, and the newest commit first.
        package var bundles: [HistoricBundle] = []
        /// What looks like a bundle and cannot be read as one.
        package var unusable: [HistoryError] = []
    }

    private let sources: [Source]
    private let limits: Limits

    package init(_ sources: [Source], limits: Limits = Limits()) {
        self.sources = sources
        self.limits = limits
    }

    /// The history of a dumps directory as a command line names it.
    ///
    /// - Parameters:
    ///   - places: each `git`, for the commits of the directory, or a folder of bundles.
    ///   - directory: the dumps directory.
    /// - Throws: ``HistoryError`` where git has no such directory, or a folder is not there.
    package init(of directory: String, in places: [String], limits: Limits = Limits()) async throws(HistoryError) {
        var sources: [Source] = []
        for place in places {
            if place == "git" {
                sources.append(.git(try await GitRepository(containing: directory, limits: limits)))
            } else {
                // A link to a folder is followed here, unlike the links in it.
                guard FileStore.isDirectory(place) else { throw .noPlace(place) }
                sources.append(.path(place))
            }
        }
        self.init(sources, limits: limits)
    }

    /// Looks for a collection's bundles. Reads locks and the first bytes of files; opens no bundle that it can tell the
    /// timestamp of without.
    ///
    /// - Throws: ``HistoryError``: for a path that is not there, a file that was named and is no bundle of the collection, a
    ///   folder that cannot be read, and where git fails.
    package func bundles(of id: CollectionID) async throws(HistoryError) -> Listing {
        var listing = Listing()
        for source in sources {
            switch source {
            case .git(let repository): try await find(id, in: repository, &listing)
            case .path(let path): try find(id, at: path, &listing)
            }
        }
        // Swift's sort is stable, which keeps the order within the same data.
        listing.bundles.sort { $0.timestamp > $1.timestamp }
        return listing
    }

    private func find(
        _ id: CollectionID, in repository: GitRepository, _ listing: inout Listing
    ) async throws(HistoryError) {
        let path = LockFile.Bundle.path(of: id)
        let revisions = try await repository.revisions(touching: path)
        let blobs = try await repository.blobs([path, GitRepository.lockPath], at: revisions)
        let entries = try await entries(
            of: id, in: Set(blobs.indices.lazy.filter { $0 % 2 == 1 }.compactMap { blobs[$0] }), repository)
        var seen: Set<GitRepository.Blob> = []
        for (index, revision) in revisions.enumerated() {
            guard let blob = blobs[index * 2], seen.insert(blob).inserted else { continue }
            do throws(HistoryError) {
                var timestamp: Timestamp?
                // The lock is small and has been read; the bundle itself is asked only where the lock speaks of another.
                if let lock = blobs[index * 2 + 1], let entry = entries[lock], entry.bundle.size == blob.size {
                    timestamp = entry.timestamp
                } else {
                    timestamp = try await self.timestamp(of: id, blob, path, at: revision, in: repository)
                }
                guard let timestamp else { continue }
                listing.bundles.append(
                    HistoricBundle(
                        collection: id, timestamp: timestamp, origin: .revision(revision, path: path),
                        size: blob.size, place: .blob(blob, repository), limits: limits))
            } catch {
                guard case .bundle = error else { throw error }
                listing.unusable.append(error)
            }
        }
    }

    /// What each of these locks says of the collection. A lock that cannot be read says nothing.
    private func entries(
        of id: CollectionID, in locks: Set<GitRepository.Blob>, _ repository: GitRepository
    ) async throws(HistoryError) -> [GitRepository.Blob: LockFile.Collection] {
        var entries: [GitRepository.Blob: LockFile.Collection] = [:]
        try await repository.read(locks.filter { $0.size <= limits.lockBytes }) { lock, text in
            entries[lock] = try? LockFile.collection(id, in: text, path: GitRepository.lockPath, limits: limits)
        }
        return entries
    }

    /// A bundle's timestamp as itself says; `nil` where it is another collection's.
    private func timestamp(
        of id: CollectionID, _ blob: GitRepository.Blob, _ path: String, at revision: GitRepository.Revision,
        in repository: GitRepository
    ) async throws(HistoryError) -> Timestamp? {
        let bytes = try await repository.contents(blob, of: path, at: revision)
        do throws(BundleError) {
            let head = try BundleHead.read(bytes, name: repository.name(path, at: revision))
            return head.collection == id ? head.timestamp : nil
        } catch {
            throw .bundle(error)
        }
    }

    private func find(_ id: CollectionID, at path: String, _ listing: inout Listing) throws(HistoryError) {
        if let names = try names(in: path) {
            var visited = 0
            try walk(path, names, depth: 0, &visited) { look(at: $0, for: id, &listing) }
            return
        }
        // A file that was named is meant: whatever is wrong with it is to be known.
        do throws(BundleError) {
            let head = try BundleHead.read(path: path)
            guard head.collection == id else {
                throw BundleError(
                    .disagreement, file: path, expected: "a bundle of \(id)", found: "one of \(head.collection)")
            }
            let size = try MappedFile(path: path).bytes.count
            listing.bundles.append(
                HistoricBundle(
                    collection: id, timestamp: head.timestamp, origin: .file(path), size: size, place: .file,
                    limits: limits))
        } catch {
            throw .bundle(error)
        }
    }

    private func look(at path: String, for id: CollectionID, _ listing: inout Listing) {
        do throws(BundleError) {
            let head = try BundleHead.read(path: path)
            guard head.collection == id else { return }
            guard let size = FileStore.size(path) else {
                throw BundleError(
                    .unreadable, file: path, expected: "a readable regular file", found: "one whose size cannot be told"
                )
            }
            listing.bundles.append(
                HistoricBundle(
                    collection: id, timestamp: head.timestamp, origin: .file(path), size: size, place: .file,
                    limits: limits))
        } catch {
            // What does not begin like a bundle is something else, which may well lie there.
            if error.kind != .malformed { listing.unusable.append(.bundle(error)) }
        }
    }

    private func walk(
        _ folder: String, _ names: [String], depth: Int, _ visited: inout Int, _ visit: (String) -> Void
    ) throws(HistoryError) {
        guard depth < limits.historyDepth else {
            throw .overLimit(place: folder, limit: "historyDepth", allowed: limits.historyDepth)
        }
        for name in names where !name.hasPrefix(".") {
            visited += 1
            guard visited <= limits.historyFiles else {
                throw .overLimit(place: folder, limit: "historyFiles", allowed: limits.historyFiles)
            }
            let path = "\(folder)/\(name)"
            switch try kind(of: path) {
            case .file: visit(path)
            case .directory: try walk(path, try self.names(in: path) ?? [], depth: depth + 1, &visited, visit)
            case .other, nil: break
            }
        }
    }

    private func kind(of path: String) throws(HistoryError) -> FileKind? {
        do throws(FileError) {
            return try FileStore.kind(path)
        } catch {
            throw .file(error)
        }
    }

    /// The names in a folder; `nil` where it is no folder.
    private func names(in folder: String) throws(HistoryError) -> [String]? {
        do throws(FileError) {
            return try FileStore.list(folder)
        } catch {
            throw .file(error)
        }
    }
}
