import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    /// Returns the lock file for a reader that has not locked the directory, and the collections whose bundles a commit
    /// is renaming. If a redo log has effect, the lock file is the one in it. Reads files; writes none.
    ///
    /// - Throws: `Failure` if the lock file cannot be read.
    package func readableLock() throws -> (lock: LockFile, staged: Set<CollectionID>) {
        guard let log = try RedoLog.read(in: path) else { return (try lockFile(), []) }
        return (log.lock, Set(log.staged))
    }

    /// Returns the path of a bundle that is listed by ``readableLock()``. Reads files; writes none.
    package func readablePath(_ id: CollectionID) throws -> String {
        let staged = try RedoLog.read(in: path)?.staged ?? []
        return try staged.contains(id) && FileStore.exists(packPath(id)) ? packPath(id) : bundlePath(id)
    }
}

/// A bundle that was opened once. All later reads use this open file, because the file at its path may be replaced in
/// the meantime.
package struct BundleAtHand: Sendable {
    package let file: MappedFile
    package let reader: BundleReader

    /// Opens a bundle and checks its structure, but not its contents. Does I/O.
    package init(path: String) throws(Failure) {
        file = try MappedFile(bundle: path)
        reader = try BundleReader(file)
    }

    /// Returns whether this is exactly the bundle that `held`, its current lock file entry, describes, and has the same
    /// content as `entry`. The compression may differ. Reads the whole file if the contents are equal.
    func isFile(of entry: LockFile.Collection, lockedAs held: LockFile.Collection) -> Bool {
        guard held.content == entry.content, file.bytes.count == held.bundle.size,
            file.digest() == held.bundle.sha256
        else { return false }
        // The bundle of `entry` has just been verified. If this one has other bytes, verify its contents, because an
        // attacker may have changed both the file and the lock file.
        return held.bundle == entry.bundle || (try? reader.verifyContents()) != nil
    }
}

extension DumpsDirectory {
    /// Opens a bundle that the lock file lists, but does not check its contents. Does I/O.
    package func bundle(_ id: CollectionID) throws(Failure) -> BundleReader {
        try BundleReader(MappedFile(bundle: bundlePath(id)))
    }

    /// Opens the named bundles, or all bundles in the lock file, sorted by collection. Reads every byte of them.
    ///
    /// Each bundle must have exactly the content listed in the lock file. Signatures are not verified; `rsdump verify`
    /// does that.
    ///
    /// - Throws: ``Failure`` if a name is not in the lock file, if the lock file lists no bundles, or if
    ///   `dumps.yaml` does not list all of them; `Failure`.
    package func lockedBundles(_ names: [CollectionID]) throws -> [BundleReader] {
        let lock = try lockFile()
        let unknown = names.filter { lock.collections[$0] == nil }
        guard unknown.isEmpty else { throw Failure.notLocked(unknown, lockPath, known: lock.collections.keys) }
        guard !lock.collections.isEmpty else { throw Failure.nothingLocked(lockPath) }
        let unlisted = try unlistedCollections(lock)
        guard unlisted.isEmpty else { throw Failure.unlisted(unlisted, configurationPath) }
        let wanted = names.isEmpty ? Set(lock.collections.keys) : Set(names)
        return try wanted.sorted().map { id in
            let bundle = try bundle(id)
            try bundle.verifyContents()
            let content = Manifest.digest(of: try bundle.manifestText())
            guard bundle.head.collection == id, content == lock.collections[id]?.content else {
                throw Failure(
                    .damaged, file: bundle.name, expected: "the content hash in the lock file for \(id)",
                    found: content.hex)
            }
            return bundle
        }
    }
}
