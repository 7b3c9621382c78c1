import RemoteSettingsModel
import SnapshotBundle

/// A file that is neither a bundle in the lock file nor allowed in a dumps directory.
package struct StrayFile: Sendable, Encodable {
    /// The path, relative to the dumps directory.
    package let path: String
    /// The problem and the remedy, as a clause.
    package let problem: String

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(path)
    }
}

extension DumpsDirectory {
    /// Returns the files in the directory that are neither bundles in the lock file nor allowed files, sorted.
    ///
    /// Allowed at the top level are `dumps.yaml`, `dumps.lock.json`, `.gitattributes`, `.gitignore`, files whose names
    /// begin with README, NOTICE, LICENSE or COPYING, and `.rsdump/`, the work directory of a refresh. A bucket's
    /// folder may contain only its bundles. Symbolic links are never allowed, regardless of their targets.
    ///
    /// In `.rsdump/`, files that git tracks are not allowed, because every reader would use a redo log among them. A
    /// redo log that has no effect is not allowed either, because an edit of `dumps.yaml` may bring it into effect.
    ///
    /// - Parameters:
    ///   - tracked: the paths of the files in `.rsdump/` that git tracks, relative to the directory.
    ///   - place: the directory in the work tree, for messages. It differs from the path for a directory that was
    ///     checked out of a commit.
    /// - Throws: `Failure`.
    package func strayFiles(tracked: [String], at place: String) throws -> [StrayFile] {
        let lock = try lockFile()
        let collections = lock.collections.keys + [lock.retired].compactMap(\.self)
        let bundles = Set(collections.map { LockFile.Bundle.path(of: $0) })
        let buckets = Set(collections.map(\.bucket))
        var strays: [String] = []
        for name in try FileStore.list(path, isLossy: true) ?? [] {
            let isFolder = try FileStore.isDirectory("\(path)/\(name)")
            if isFolder, buckets.contains(name) {
                let contents = try FileStore.list("\(path)/\(name)", isLossy: true) ?? []
                strays += contents.map { "\(name)/\($0)" }.filter { !bundles.contains($0) }
            } else if try isFolder ? "\(path)/\(name)" != workPath : !isAllowedFile(name) {
                strays.append(isFolder ? "\(name)/" : name)
            }
        }
        var found = strays.filter { !tracked.contains($0) }.map {
            StrayFile(path: $0, problem: "it is not in the lock file; remove it, or move it elsewhere")
        }
        found += tracked.map {
            StrayFile(
                path: $0,
                problem: "git tracks it, but only a running rsdump may write there; remove it with: git rm -r "
                    + GitSetup.quoted("\(place)/\(Self.workName)"))
        }
        if !tracked.contains(RedoLog.path), try FileStore.kind(redoLogPath) != nil,
            try RedoLog.read(in: path) == nil
        {
            found.append(
                StrayFile(
                    path: RedoLog.path,
                    problem: "this log of a change has no effect now, but may have one after dumps.yaml is edited; "
                        + "remove it"))
        }
        return found.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    }

    private func isAllowedFile(_ name: String) throws(Failure) -> Bool {
        // Only a regular file is allowed, not a link, a pipe or a device.
        guard Self.isAllowed(name) else { return false }
        return try FileStore.size("\(path)/\(name)") != nil
    }

    /// Returns whether a dumps directory may contain a file with this name, in addition to its bundles.
    static func isAllowed(_ name: String) -> Bool {
        guard !name.utf8.contains(UInt8(ascii: "/")) else { return false }
        return ["dumps.yaml", "dumps.lock.json", ".gitattributes", ".gitignore"].contains(name)
            || ["README", "NOTICE", "LICENSE", "COPYING"].contains { name.hasPrefix($0) }
    }

    /// Returns the paths of the files in `.rsdump/` that git tracks, relative to the directory, sorted; empty outside
    /// of a repository. Does I/O, and runs git if there is a `.rsdump/`.
    ///
    /// - Throws: ``Failure`` if the directory is in a repository, but git cannot be asked.
    package func trackedWork() async throws -> [String] {
        guard try FileStore.kind(workPath) != nil, try isInRepository() else { return [] }
        do throws(Failure) {
            return try await GitRepository(containing: path).tracked(below: Self.workName)
        } catch {
            throw Failure(
                error.code, place: workPath, problem: "it is unknown whether git tracks files in it: \(error.problem)",
                remedy: "remove the directory, or correct this problem")
        }
    }

    /// Returns the paths of the files in the `.rsdump/` of a commit, relative to the directory, sorted. Runs git.
    ///
    /// - Parameter name: a tag, a branch or another name of a commit.
    package func trackedWork(in name: String) async throws(Failure) -> [String] {
        let repository = try await GitRepository(containing: path)
        return try await repository.tracked(below: Self.workName, in: repository.revision(name))
    }

    private func isInRepository() throws(Failure) -> Bool {
        guard var place = try FileStore.resolved(path) else { return false }
        while try !FileStore.exists("\(place)/.git") {
            guard place != "/" else { return false }
            place = FileStore.parent(of: place)
        }
        return true
    }

    /// Returns the allowed files that are written by people or for git: all except bundles, `dumps.yaml` and the lock
    /// file. Does I/O.
    ///
    /// - Throws: `Failure`, also if a file is too large.
    package func documents() throws(Failure) -> [(name: String, content: Bytes)] {
        var documents: [(name: String, content: Bytes)] = []
        for name in try FileStore.list(path) ?? [] where !["dumps.yaml", "dumps.lock.json"].contains(name) {
            guard try isAllowedFile(name),
                let content = try FileStore.read("\(path)/\(name)", limit: Self.configurationBytes)
            else { continue }
            documents.append((name, content))
        }
        return documents
    }

    /// Writes a file from ``documents()`` of another directory, unless there is one with this name. Does I/O.
    package func add(document name: String, _ content: Bytes) throws(Failure) {
        guard try FileStore.kind("\(path)/\(name)") == nil else { return }
        try FileStore.replace("\(path)/\(name)", below: path, with: content)
    }
}
