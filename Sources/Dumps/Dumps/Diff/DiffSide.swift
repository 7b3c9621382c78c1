import RemoteSettingsModel
import SnapshotBundle

/// One side of a comparison, opened for reading its collections.
package struct DiffSide: Sendable {
    /// The place that a side comes from.
    package enum Place: Hashable, Sendable, CustomStringConvertible {
        /// A bundle (`.zip`) or a dumps directory.
        case path(String)
        /// Part of a commit: the dumps directory, or the directory or bundle at a path.
        case git(revision: String, path: String?)
        /// The server's current state.
        case server
        /// The state that publishing the sources in this directory would create.
        case sources(String)

        /// Parses the name of a side.
        ///
        /// - Parameter text: `server`, `git:REV`, `git:REV:PATH`, `sources:DIR` or a path.
        /// - Returns: `nil` if the string is empty, or if the revision or path after a colon is missing.
        package init?(_ text: String) {
            if text.hasPrefix("sources:") {
                guard text.utf8.count > 8 else { return nil }
                self = .sources(String(text.dropFirst(8)))
                return
            }
            guard text.hasPrefix("git:") else {
                guard !text.isEmpty else { return nil }
                self = text == "server" ? .server : .path(text)
                return
            }
            let parts = text.dropFirst(4).split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let revision = parts.first, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
            self = .git(revision: String(revision), path: parts.count == 2 ? String(parts[1]) : nil)
        }

        /// The place as a string that ``init(_:)`` accepts.
        package var description: String {
            switch self {
            case .path(let path): path
            case .git(let revision, nil): "git:\(revision)"
            case .git(let revision, let path?): "git:\(revision):\(path)"
            case .server: "server"
            case .sources(let path): "sources:\(path)"
            }
        }
    }

    private enum Source {
        case bundle(BundleReader)
        case directory(DumpsDirectory, LockFile)
        case revision(GitRepository, GitRepository.Revision, LockFile)
        case states([CollectionID: ComparedSnapshot])
    }

    private let source: Source
    /// Notes about this side for the reader of the comparison, one line each.
    package let notes: [String]

    /// Returns the settings in `dumps.yaml`; `nil` if the side has none.
    func configuration() async throws -> DumpsConfiguration? {
        switch source {
        case .bundle, .states: return nil
        case .directory(let directory, _):
            return try directory.configurationText() == nil ? nil : directory.configuration()
        case .revision(let repository, let revision, _):
            return try await repository.configuration(at: revision)
        }
    }

    /// The only collection, if the side is a bundle.
    var onlyCollection: CollectionID? {
        if case .bundle(let bundle) = source { bundle.head.collection } else { nil }
    }

    package var collections: Set<CollectionID> {
        switch source {
        case .bundle(let bundle): [bundle.head.collection]
        case .directory(_, let lock), .revision(_, _, let lock): Set(lock.collections.keys)
        case .states(let states): Set(states.keys)
        }
    }

    /// Opens a bundle or a dumps directory. Does I/O.
    ///
    /// - Throws: ``Failure`` if the path is neither; `Failure`.
    package init(path: String) throws {
        notes = []
        guard try FileStore.isDirectory(path) else {
            guard try FileStore.exists(path) else {
                throw Failure.notComparable(
                    "\(path): there is no such bundle or dumps directory; for a commit's dumps write git:REV, for the "
                        + "server's state write server")
            }
            source = .bundle(try BundleReader(path: path))
            return
        }
        let directory = DumpsDirectory(path)
        let lock = try directory.lockFile()
        guard try !lock.collections.isEmpty || directory.configurationText() != nil else {
            throw Failure.notComparable("\(path): this directory has no dumps.lock.json or dumps.yaml; check the path")
        }
        source = .directory(directory, lock)
    }

    /// Opens a dumps directory or a bundle in a commit, by its path in the work tree. Runs git.
    ///
    /// - Throws: ``Failure``, also if the commit has no such bundle, or `Failure`.
    package init(revision name: String, path: String) async throws {
        if path.hasSuffix(".zip") {
            source = .bundle(try await Self.bundle(at: path, in: name))
            notes = []
            return
        }
        let (repository, revision, _) = try await GitRepository.finding(GitRepository.lockPath, of: path, at: name)
        let lock = try await repository.lock(at: revision)
        notes = lock == nil ? ["git:\(name) has no \(path)/dumps.lock.json; it is treated as empty"] : []
        source = .revision(repository, revision, lock ?? LockFile())
    }

    /// Opens a bundle in a commit, by its path in the work tree. Runs git.
    ///
    /// - Throws: ``Failure``, also if the commit has no such bundle, or `Failure`.
    package static func bundle(at path: String, in name: String) async throws -> BundleReader {
        let file = path.utf8.split(separator: UInt8(ascii: "/")).last.flatMap(String.init) ?? ""
        let (repository, revision, _) = try await GitRepository.finding(file, of: FileStore.parent(of: path), at: name)
        guard let bytes = try await repository.file(file, at: revision) else {
            throw Failure.notComparable(
                "git:\(name): this commit has no \(path); find the commits that have it with: git log -- \(path)")
        }
        return try BundleReader(bytes: bytes, name: "git:\(name):\(path)")
    }

    /// Creates a side from a server's collections.
    ///
    /// - Parameter snapshots: the server's collections, verified.
    package init(server snapshots: [CollectionID: Snapshot]) {
        self.init(states: snapshots.mapValues { ComparedSnapshot($0) })
    }

    /// Creates a side from given states.
    ///
    /// - Parameter states: the states to compare, from any source.
    package init(states: [CollectionID: ComparedSnapshot]) {
        source = .states(states)
        notes = []
    }

    /// Returns the state of one collection; `nil` if this side does not have it.
    ///
    /// - Throws: `Failure` or `Failure` if the collection cannot be read.
    func state(of id: CollectionID) async throws -> ComparedSnapshot? {
        switch source {
        case .bundle(let bundle): return bundle.head.collection == id ? try ComparedSnapshot(bundle) : nil
        case .states(let states): return states[id]
        case .directory(let directory, let lock):
            guard let entry = lock.collections[id] else { return nil }
            return try ComparedSnapshot(directory.bundle(id), lockedAs: entry)
        case .revision(let repository, let revision, let lock):
            guard let entry = lock.collections[id] else { return nil }
            let name = "git:\(revision.commit.prefix(12)):\(entry.bundle.path)"
            guard let bytes = try await repository.file(entry.bundle.path, at: revision) else {
                throw Failure(
                    .missing, file: name, expected: "the bundle in this commit's lock file", found: "none",
                    remedy: "use a different commit")
            }
            return try ComparedSnapshot(BundleReader(bytes: bytes, name: name), lockedAs: entry)
        }
    }

    /// Returns whether the bundle has the same hash on both sides; `false` if a side is neither a commit nor a
    /// directory.
    func isSameBundle(of id: CollectionID, as other: DiffSide) throws -> Bool {
        guard let mine = try bundleHash(of: id), let others = try other.bundleHash(of: id) else { return false }
        return mine == others
    }

    /// Returns the bundle's SHA-256: in a commit, the one in the lock file; in a directory, that of the file, which is
    /// read. Returns `nil` for any other side.
    private func bundleHash(of id: CollectionID) throws -> SHA256Digest? {
        switch source {
        case .revision(_, _, let lock): return lock.collections[id]?.bundle.sha256
        case .directory(let directory, let lock):
            guard lock.collections[id] != nil else { return nil }
            return try directory.bundleHash(id)
        case .bundle, .states: return nil
        }
    }
}

extension DiffReport {
    /// Compares two sides. Reads bundles, and runs git if a side is a commit.
    ///
    /// - Parameter names: the collections to compare; an empty list means all.
    /// - Throws: ``Failure`` if neither side has a named collection; `Failure` if one cannot be
    ///   read.
    package init(
        from old: (name: DiffSide.Place, side: DiffSide), to new: (name: DiffSide.Place, side: DiffSide),
        names: [CollectionID]
    ) async throws {
        let (before, after) = (old.side, new.side)
        if let one = before.onlyCollection, let other = after.onlyCollection, names.isEmpty {
            // Two bundles are compared even if their collections have different names, because a preview is in another
            // bucket.
            let diff = SnapshotDiff(from: try await before.state(of: one), to: try await after.state(of: other))
            self.init(old: "\(old.name)", new: "\(new.name)", collections: [diff].compactMap(\.self))
            return
        }
        let known = before.collections.union(after.collections)
        let unknown = names.filter { !known.contains($0) }
        guard unknown.isEmpty else {
            throw Failure.notComparable(
                "\(Counted.list(unknown)): neither \(old.name) nor \(new.name) has it; "
                    + unknown.didYouMean(
                        known, or: "together they have \(Counted.text(known.count, "other collection"))"))
        }
        let only = [before.onlyCollection, after.onlyCollection].compactMap(\.self)
        var diffs: [SnapshotDiff] = []
        for id in names.isEmpty ? only.isEmpty ? known.sorted() : only : names {
            let isSame = try before.isSameBundle(of: id, as: after)
            let newer = try await after.state(of: id)
            let older = isSame ? newer : try await before.state(of: id)
            if let diff = SnapshotDiff(from: older, to: newer) { diffs.append(diff) }
        }
        var settings: [SettingChange] = []
        var unlisted: Set<CollectionID> = []
        if names.isEmpty, let older = try await before.configuration(), let newer = try await after.configuration() {
            settings = SettingChange.changes(from: older, to: newer)
            unlisted = before.collections.subtracting(after.collections)
                .subtracting(newer.collections.map(\.id))
        }
        self.init(old: "\(old.name)", new: "\(new.name)", collections: diffs, settings: settings, unlisted: unlisted)
    }
}
