import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// A `dumps/` directory: the paths of its files, and the methods that read and replace them.
///
/// It contains `dumps.yaml`, `dumps.lock.json` and `<bucket>/<collection>.zip`, which are written by a
/// ``DumpsTransaction``. Commands work in the subdirectory `.rsdump/`, which contains downloads, staged bundles, the
/// redo log of a commit, backoffs requested by the server, and changes that `--on-change` commands have not been
/// notified of yet. Its own `.gitignore` excludes it from git. A command that leaves no unfinished work removes it.
package struct DumpsDirectory: Sendable {
    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    /// Returns whether `other` is a path of this directory, after resolving links. Does I/O.
    ///
    /// - Throws: `Failure` if an existing path cannot be resolved.
    package func isAt(_ other: String) throws(Failure) -> Bool {
        guard let own = try FileStore.resolved(path) else { return false }
        return try own == FileStore.resolved(other)
    }

    /// Returns whether a path is this directory or inside it, after resolving links, even if it does not exist yet.
    /// Does I/O.
    package func holds(_ other: String) throws(Failure) -> Bool {
        guard let own = try FileStore.resolved(path) else { return false }
        var place = try FileStore.absolute(other)
        while true {
            if let found = try FileStore.resolved(place) {
                return found == own || found.utf8.starts(with: (own == "/" ? own : "\(own)/").utf8)
            }
            place = FileStore.parent(of: place)  // bounded: "/" is there
        }
    }

    /// Returns whether `dumps.yaml`, the lock file or a listed bundle is at or inside `other`, after resolving links.
    /// Does I/O.
    ///
    /// Replacing `other` would then destroy that file.
    ///
    /// - Throws: `Failure` if the lock file cannot be read, or if a path cannot be resolved.
    package func hasFiles(at other: String) throws -> Bool {
        guard let other = try FileStore.resolved(other) else { return false }
        let folder = other == "/" ? other : "\(other)/"
        let files = [configurationPath, lockPath] + (try lockFile().collections.keys.map(bundlePath))
        return try files.compactMap(FileStore.resolved).contains { $0 == other || $0.hasPrefix(folder) }
    }

    /// The maximum size of `dumps.yaml` in bytes.
    static let configurationBytes = 4 << 20

    package var configurationPath: String { "\(path)/dumps.yaml" }
    package var lockPath: String { "\(path)/\(LockFile.name)" }

    package func bundlePath(_ id: CollectionID) -> String { "\(path)/\(LockFile.Bundle.path(of: id))" }

    /// Returns the SHA-256 of a bundle's file; `nil` if there is none. Reads the file.
    func bundleHash(_ id: CollectionID) throws(Failure) -> SHA256Digest? {
        let path = bundlePath(id)
        return try FileStore.size(path) == nil ? nil : FileStore.digest(of: path)
    }

    /// The name of the work directory.
    package static let workName = ".rsdump"
    package var workPath: String { "\(path)/\(Self.workName)" }
    var stagingPath: String { "\(workPath)/staging" }

    /// Returns the base name of a collection's work files. Ids contain no dots, so no two collections share a name.
    private func baseName(_ id: CollectionID) -> String { "\(id.bucket).\(id.name)" }

    /// Returns the path at which a bundle is written before it is renamed to its final path.
    package func packPath(_ id: CollectionID) -> String { "\(path)/\(RedoLog.packPath(of: id))" }

    /// Returns the path of the server's ZIP file of attachments while it is being read.
    package func serverZIPPath(_ id: CollectionID) -> String { "\(workPath)/\(baseName(id)).server.zip.tmp" }

    /// Returns the directory in which a collection's attachments are stored before they are packed.
    package func stagedPath(_ id: CollectionID) -> String { "\(stagingPath)/\(baseName(id))" }

    /// Returns the path at which an attachment is stored before it is packed.
    package func stagedPath(_ digest: SHA256Digest, of id: CollectionID) -> String { "\(stagedPath(id))/\(digest)" }

    package func removeDownloads(of id: CollectionID) throws(Failure) {
        try FileStore.removeTree(stagedPath(id), below: path)
    }

    /// Reads `dumps.yaml`.
    ///
    /// - Throws: ``Failure``. If the file is missing, the error explains how to create it.
    package func configuration() throws -> DumpsConfiguration {
        guard let text = try configurationText() else {
            guard try FileStore.size(path) == nil else {
                throw Failure(place: path, problem: "this is a file", remedy: "give the dumps directory")
            }
            throw Failure(
                place: configurationPath, problem: "the file does not exist",
                remedy: "create it with: rsdump add BUCKET/COLLECTION")
        }
        return try ConfigurationReader.read(text, file: configurationPath)
    }

    /// Reads `dumps.yaml`; returns the defaults if there is none.
    ///
    /// - Throws: ``Failure``.
    package func configurationOrDefault() throws -> DumpsConfiguration {
        let text = try configurationText()
        return try text.map { try ConfigurationReader.read($0, file: configurationPath) } ?? DumpsConfiguration()
    }

    /// Returns the text of `dumps.yaml`; `nil` if there is none.
    package func configurationText() throws -> String? {
        try FileStore.read(configurationPath, limit: Self.configurationBytes).map {
            try Self.configurationText($0, file: configurationPath)
        }
    }

    static func configurationText(_ bytes: Bytes, file: String) throws(Failure) -> String {
        guard let text = String(validating: bytes.array, as: UTF8.self) else {
            throw Failure(place: file, problem: "the text is not UTF-8", remedy: "save it as UTF-8")
        }
        return text
    }

    /// Reads the lock file; returns an empty one if there is none.
    ///
    /// - Throws: ``Failure``.
    package func lockFile() throws -> LockFile {
        guard let bytes = try FileStore.read(lockPath, limit: Limits.lockBytes) else { return LockFile() }
        return try LockFile(parsing: bytes, path: lockPath)
    }

    /// Refuses symbolic links in place of work directories, because a pull request can contain one.
    ///
    /// Otherwise, files behind the link could be mistaken for the work of an earlier run and removed.
    func refuseLinks() throws(Failure) {
        for path in [workPath, stagingPath] { try FileStore.refuseLink(path) }
    }

    /// Creates the work directory.
    package func prepareWork() throws(Failure) {
        try refuseLinks()
        try FileStore.makeDirectories(path)
        try FileStore.makeDirectories(workPath, below: path)
        let ignore = "\(workPath)/.gitignore"
        if try FileStore.size(ignore) == nil {
            // Concurrent refreshes of collections may write this file at the same time.
            try FileStore.replace(ignore, below: path, with: Bytes(utf8: "*\n"), isContended: true)
        }
    }

    /// Removes work files that are no longer needed after a change.
    ///
    /// - Parameter keepingDownloads: whether to keep downloads for the next refresh.
    func finishWork(keepingDownloads: Bool) throws(Failure) {
        try refuseLinks()
        try discardStaged()
        try FileStore.removeTree(scratchPath, below: path)
        if keepingDownloads {
            try FileStore.removeIfEmpty(stagingPath)
        } else {
            try FileStore.removeTree(stagingPath, below: path)
        }
        try removeIdleWork()
    }

    /// Removes temporary files, such as bundles that were staged but never committed.
    func discardStaged() throws(Failure) {
        try FileStore.removeChildren(of: workPath, below: path) { $0.hasSuffix(".tmp") }
    }

    /// Removes the work directory if it contains nothing that is still needed.
    package func removeIdleWork() throws(Failure) {
        try refuseLinks()
        let left = try FileStore.list(workPath, isLossy: true) ?? []
        if left.allSatisfy({ $0 == ".gitignore" }) { try FileStore.removeTree(workPath, below: path) }
    }

    /// A directory for the files of an imported archive. It is removed when the transaction ends.
    package var scratchPath: String { "\(workPath)/import" }

    /// Creates an empty directory at ``scratchPath``.
    package func makeScratch() throws(Failure) {
        try prepareWork()
        try FileStore.removeTree(scratchPath, below: path)
        try FileStore.makeDirectories(scratchPath, below: path)
    }

    /// The path of the file that lists pending `--on-change` commands, with the state that each was last notified of.
    package var hooksPath: String { "\(workPath)/on-change.json" }

    private static let gitAttributes = [
        "dumps.lock.json -text merge=rsdump",
        "*.zip -text merge=rsdump diff=rsdump",
    ]

    /// Adds lines to the directory's `.gitattributes` that configure how git merges and displays its files. Other lines
    /// are kept. Does I/O.
    ///
    /// - Returns: whether a line was missing.
    /// - Throws: `Failure`.
    package func writeGitAttributes() throws(Failure) -> Bool {
        let file = "\(path)/.gitattributes"
        let present = try FileStore.read(file, limit: Self.configurationBytes) ?? Bytes()
        let lines = present.lines
        let missing = Self.gitAttributes.filter { !lines.contains(Bytes(utf8: $0)) }
        guard !missing.isEmpty else { return false }
        try FileStore.replace(
            file, below: path, with: present.appending(lines: missing), limit: Self.configurationBytes)
        return true
    }

    private var backoffPath: String { "\(workPath)/backoff.json" }

    /// Returns the backoffs requested by servers (`Backoff`, `Retry-After`), as stored by the last refresh. An
    /// unreadable file is treated as empty, because the server will request the backoff again.
    package func backoff() -> BackoffState { BackoffFile.read(backoffPath) }

    /// Writes the backoffs that have not expired, or removes the file if there are none.
    func keepBackoff(_ state: BackoffState, now: Timestamp) throws(Failure) {
        if !state.holds(at: now).isEmpty { try prepareWork() }
        try BackoffFile.write(state, to: backoffPath, now: now)
    }
}
