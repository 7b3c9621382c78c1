import RemoteSettingsModel
import SnapshotBundle

/// Older bundles of collections, in git repositories, folders and single files.
package struct BundleHistory: Sendable {
    package enum Source: Sendable {
        /// The commits up to a given one; `nil` for `HEAD`.
        case git(GitRepository, upTo: GitRepository.Revision? = nil)
        /// A bundle, or a folder of bundles at any depth. File names are ignored, because each manifest identifies its
        /// bundle. Hidden folders and links are skipped.
        case path(String)
    }

    /// The bundles that were found for one collection.
    package struct Listing: Sendable {
        /// The bundles, newest timestamp first. Those with the same timestamp are in the order of the sources, and from
        /// the newest commit first.
        package var bundles: [HistoricBundle] = []
        /// The files that look like bundles but cannot be read.
        package var unusable: [Failure] = []
        /// Whether older bundles may be missing, because the clone is shallow.
        package var isCut = false
    }

    private let sources: [Source]
    private let bounds: HistoryLimits

    package init(_ sources: [Source], bounds: HistoryLimits = HistoryLimits()) {
        self.sources = sources
        self.bounds = bounds
    }

    /// Creates the history of a dumps directory, from places given on the command line.
    ///
    /// - Parameters:
    ///   - places: the places. Each is `git`, for the commits of the directory, or a folder of bundles.
    ///   - directory: the dumps directory.
    /// - Throws: ``Failure`` if the directory is not in a git repository, or if a folder does not exist.
    package init(of directory: String, in places: [String]) async throws(Failure) {
        var sources: [Source] = []
        for place in places {
            if place == "git" {
                sources.append(.git(try await GitRepository(containing: directory)))
            } else {
                guard try FileStore.kind(place) == .directory else { throw .noPlace(place) }
                sources.append(.path(place))
            }
        }
        self.init(sources)
    }

    /// The reason that older bundles may be missing, and the remedy; `nil` if all are there.
    package var gap: String? {
        sources.lazy.compactMap { if case .git(let repository, _) = $0 { repository.gap } else { nil } }.first
    }

    /// Finds a collection's bundles.
    ///
    /// It reads lock files and the first bytes of files, and reads a whole bundle only if these do not contain its
    /// timestamp.
    ///
    /// - Throws: ``Failure`` for a path that does not exist, a named file that is not a bundle of the collection, a
    ///   folder that cannot be read, or a failure of git.
    package func bundles(of id: CollectionID) async throws(Failure) -> Listing {
        var listing = Listing()
        for source in sources {
            switch source {
            case .git(let repository, let newest): try await find(id, in: repository, upTo: newest, &listing)
            case .path(let path): try find(id, at: path, &listing)
            }
        }
        // `sort` is stable, so bundles with the same timestamp keep their order.
        listing.bundles.sort { $0.timestamp > $1.timestamp }
        return listing
    }

    private func find(
        _ id: CollectionID, in repository: GitRepository, upTo newest: GitRepository.Revision?,
        _ listing: inout Listing
    ) async throws(Failure) {
        let path = LockFile.Bundle.path(of: id)
        let revisions = try await repository.revisions(touching: path, upTo: newest?.commit ?? "HEAD")
        if try await repository.isCut(revisions) { listing.isCut = true }
        let blobs = try await repository.blobs([path, GitRepository.lockPath], at: revisions)
        let entries = try await entries(
            of: id, in: Set(blobs.indices.lazy.filter { $0 % 2 == 1 }.compactMap { blobs[$0] }), repository)
        var seen: Set<GitRepository.Blob> = []
        for (index, revision) in revisions.enumerated() {
            guard let blob = blobs[index * 2], seen.insert(blob).inserted else { continue }
            do throws(Failure) {
                var timestamp: Timestamp?
                // The lock file is small and has already been read. The bundle is read only if the lock file describes
                // another one.
                if let lock = blobs[index * 2 + 1], let entry = entries[lock], entry.bundle.size == blob.size {
                    timestamp = entry.timestamp
                } else {
                    timestamp = try await self.timestamp(of: id, blob, path, at: revision, in: repository)
                }
                guard let timestamp else { continue }
                listing.bundles.append(
                    HistoricBundle(
                        collection: id, timestamp: timestamp, origin: .revision(revision, path: path),
                        size: blob.size, blob: (blob, repository)))
            } catch {
                guard FailureClass(error) == .bundle else { throw error }
                listing.unusable.append(error)
            }
        }
    }

    /// Returns the collection's entry in each of these lock files. A lock file that cannot be read has no entry.
    private func entries(
        of id: CollectionID, in locks: Set<GitRepository.Blob>, _ repository: GitRepository
    ) async throws(Failure) -> [GitRepository.Blob: LockFile.Collection] {
        var entries: [GitRepository.Blob: LockFile.Collection] = [:]
        try await repository.read(locks.filter { $0.size <= Limits.lockBytes }) { lock, text in
            entries[lock] = try? LockFile.collection(id, in: text, path: GitRepository.lockPath)
        }
        return entries
    }

    /// Returns a bundle's timestamp according to its own head; `nil` if it is a bundle of another collection.
    private func timestamp(
        of id: CollectionID, _ blob: GitRepository.Blob, _ path: String, at revision: GitRepository.Revision,
        in repository: GitRepository
    ) async throws(Failure) -> Timestamp? {
        let bytes = try await repository.contents(blob, of: path, at: revision)
        let head = try BundleHead.read(bytes, name: repository.name(path, at: revision))
        return head.collection == id ? head.timestamp : nil
    }

    private func find(_ id: CollectionID, at path: String, _ listing: inout Listing) throws(Failure) {
        if let names = try FileStore.list(path) {
            var visited = 0
            try walk(path, names: names, depth: 0, visited: &visited) { look(at: $0, for: id, &listing) }
            return
        }
        // The user specified this file explicitly, so every problem with it is an error.
        do throws(Failure) {
            let head = try BundleHead.read(path: path)
            guard head.collection == id else {
                throw Failure(
                    .damaged, file: path, expected: "a bundle of \(id)", found: "a bundle of \(head.collection)",
                    remedy: "give a bundle of this collection")
            }
            listing.bundles.append(try bundle(at: path, head))
        } catch {
            throw .historic(error)
        }
    }

    private func look(at path: String, for id: CollectionID, _ listing: inout Listing) {
        do throws(Failure) {
            let head = try BundleHead.read(path: path)
            if head.collection == id { listing.bundles.append(try bundle(at: path, head)) }
        } catch {
            // A file that does not begin like a bundle is not meant to be one, so it is ignored.
            if error.code != .malformed { listing.unusable.append(.historic(error)) }
        }
    }

    private func bundle(at path: String, _ head: BundleHead) throws(Failure) -> HistoricBundle {
        HistoricBundle(
            collection: head.collection, timestamp: head.timestamp, origin: .file(path),
            size: try MappedFile(path: path).bytes.count, blob: nil)
    }

    private func walk(
        _ folder: String, names: [String], depth: Int, visited: inout Int, _ visit: (String) -> Void
    ) throws(Failure) {
        guard depth < bounds.depth else {
            throw .overLimit(place: folder, limit: "nested folders", allowed: bounds.depth)
        }
        for name in names where !name.hasPrefix(".") {
            visited += 1
            guard visited <= bounds.files else {
                throw .overLimit(place: folder, limit: "files and folders", allowed: bounds.files)
            }
            let path = "\(folder)/\(name)"
            switch try FileStore.kind(path) {
            case .file: visit(path)
            case .directory:
                try walk(path, names: try FileStore.list(path) ?? [], depth: depth + 1, visited: &visited, visit)
            case .link, .other, nil: break
            }
        }
    }
}

/// The limits on a search for older states.
package struct HistoryLimits: Sendable {
    /// The maximum size of a file in version control, in bytes. It is read into memory.
    var fileBytes = 1 << 30
    /// The maximum number of files and folders that are searched in a folder of older bundles.
    var files = 1_000_000
    /// The maximum depth of nested folders in a folder of older bundles.
    var depth = 32
    /// The maximum number of revisions that are searched.
    let revisions = 100_000
    /// The maximum number of files in a folder that git tracks, although it must track none.
    let trackedFiles = 10_000
    /// The time limit of one run of git, in seconds.
    var gitSeconds = 120

    init() {}
}
