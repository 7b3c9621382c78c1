import RemoteSettingsModel

/// The redo log of a commit to a dumps directory, `.rsdump/next.json`.
///
/// It is written when all new bundles have been packed and flushed. If the commit changes `dumps.yaml`, the log takes
/// effect when that file is replaced; otherwise, immediately. It is removed when the bundles have been renamed to their
/// final paths and the lock file has been replaced. While it has effect, a reader sees the complete new state: the lock
/// file is ``lock``, and a bundle in ``staged`` is at its ``packPath(of:)`` or, once it is renamed, at its final path.
/// If the process is killed, the next command finishes the commit.
package struct RedoLog: Hashable, Sendable {
    /// The SHA-256 of the lock file that the commit replaces; `nil` if there is none. If the directory has another lock
    /// file by now, for example after `git checkout`, the log is outdated and is ignored.
    package var replaces: SHA256Digest?
    /// The SHA-256 of the `dumps.yaml` that the commit replaces, or of no bytes if there is none; `nil` if the commit
    /// keeps `dumps.yaml`. As long as the file still has this hash, the log has no effect.
    package var configuration: SHA256Digest?
    /// The collections whose new bundles are renamed to their final paths, sorted.
    package var staged: [CollectionID]
    /// The collections whose bundles are removed in the last step, sorted.
    package var removed: [CollectionID]
    /// The new lock file.
    package var lock: LockFile

    package init(
        replaces: SHA256Digest?, configuration: SHA256Digest? = nil, staged: [CollectionID], removed: [CollectionID],
        lock: LockFile
    ) {
        self.replaces = replaces
        self.configuration = configuration
        self.staged = staged
        self.removed = removed
        self.lock = lock
    }

    /// The collections whose bundles change, sorted.
    package var collections: [CollectionID] { (staged + removed).sorted() }

    /// The log's path, relative to the dumps directory.
    package static let path = ".rsdump/next.json"

    /// Returns the path at which a bundle is packed before it is renamed to its final path, relative to the dumps
    /// directory.
    package static func packPath(of collection: CollectionID) -> String {
        // Ids contain no dots, so no two collections have the same path.
        ".rsdump/\(collection.bucket).\(collection.name).zip.tmp"
    }

    /// The log as text.
    package var text: [UInt8] {
        let log = JSONValue.members([
            "replaces": replaces.map { .string($0.hex) },
            "configuration": configuration.map { .string($0.hex) },
            "staged": .array(staged.map { .string("\($0)") }),
            "removed": .array(removed.map { .string("\($0)") }),
            "lock": lock.json,
        ])
        return JSONText.text(log, .init(indent: 2, strings: .ascii)) + [UInt8(ascii: "\n")]
    }

    /// Parses the text of a log. Does no I/O.
    ///
    /// - Throws: ``Failure`` if the log is incomplete or damaged.
    package init(parsing text: Bytes, path: String) throws(Failure) {
        var reader = DocumentReader(lock: text, file: path)
        try reader.begin()
        replaces = reader.isNext("replaces") ? try reader.digest("replaces") : nil
        configuration = reader.isNext("configuration") ? try reader.digest("configuration") : nil
        staged = try reader.sortedCollections("staged")
        removed = try reader.sortedCollections("removed")
        lock = try reader.member("lock") { (reader) throws(Failure) in try LockFile(&reader) }
        try reader.end()
        try reader.finish()
    }

    /// Reads the log of a commit that is running, or that was killed. Does I/O.
    ///
    /// - Returns: `nil` if there is none, if it is incomplete because the machine crashed before it was flushed, if the
    ///   commit's `dumps.yaml` was not written, or if it is outdated. In these cases, no bundle in it has been renamed.
    /// - Throws: ``Failure`` if the log, the lock file or `dumps.yaml` cannot be read.
    package static func read(in directory: String) throws(Failure) -> RedoLog? {
        let path = "\(directory)/\(path)"
        guard let text = try FileStore.read(path, limit: Limits.lockBytes),
            let log = try? RedoLog(parsing: text, path: path)
        else { return nil }
        let lock = try FileStore.read("\(directory)/\(LockFile.name)", limit: Limits.lockBytes)
        let found = lock.map { SHA256Digest(hashing: $0) }
        if found == SHA256Digest(hashing: Bytes(log.lock.text)) { return log }
        guard found == log.replaces else { return nil }
        guard let replaced = log.configuration else { return log }
        return try configuration(in: directory) == replaced ? nil : log
    }

    /// Returns the SHA-256 of the `dumps.yaml` in a directory, or of no bytes if there is none. Reads the file.
    package static func configuration(in directory: String) throws(Failure) -> SHA256Digest {
        let text = try FileStore.read("\(directory)/dumps.yaml", limit: Limits.lockBytes)
        return SHA256Digest(hashing: text ?? Bytes())
    }
}

extension DocumentReader {
    /// The largest number of collections in a log. An entry of a lock file is longer than 256 bytes, so no lock file
    /// lists more collections.
    private static let mostCollections = Limits.lockBytes / 256

    /// Reads a member whose value is an array of collections, sorted and without duplicates.
    fileprivate mutating func sortedCollections(_ key: String) throws(Failure) -> [CollectionID] {
        var last: CollectionID?
        return try array(key, most: Self.mostCollections) { (reader) throws(Failure) in
            let id = try reader.collection(try reader.string())
            if let last, id <= last {
                throw reader.failure(found: "the collections must be sorted, without duplicates")
            }
            last = id
            return id
        }
    }
}
