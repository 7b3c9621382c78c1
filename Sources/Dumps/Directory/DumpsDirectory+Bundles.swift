import FileStorage
import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    /// The lock, including the bundles of an interrupted refresh: if a bundle's file is the one in its note, the note becomes
    /// its lock entry. Reads files, writes none.
    ///
    /// - Throws: ``FileError`` or `BundleError` where the lock or a note cannot be read.
    package func recoveredLock(limits: Limits) throws -> (lock: LockFile, recovered: [CollectionID]) {
        var lock = try lockFile(limits: limits)
        var recovered: [CollectionID] = []
        for (id, entry) in try pendingEntries(limits: limits).sorted(by: { $0.key < $1.key })
        where lock.collections[id] != entry {
            let path = bundlePath(id)
            guard FileStore.size(path) == entry.bundle.size,
                try FileStore.digest(of: path) == entry.bundle.sha256
            else { continue }
            lock.collections[id] = entry
            recovered.append(id)
        }
        return (lock, recovered)
    }

    /// Renames a finished bundle into place, after writing down its future lock entry. Writing the lock flushes the name to
    /// the disk.
    package func name(_ id: CollectionID, _ entry: LockFile.Collection) throws(FileError) {
        try writePending(id, entry)
        try FileStore.rename(packPath(id), to: bundlePath(id), below: path, flushing: false)
    }
}

extension DumpsDirectory {
    /// Opens the named bundles, or all that the lock lists, sorted by collection, and checks that each holds exactly the
    /// content that the lock names. Reads every byte of them.
    ///
    /// Signatures are not verified: `rsdump verify` does that.
    ///
    /// - Throws: ``DumpsError`` where a name is not in the lock, or the lock lists no bundles; `BundleError` or `FileError`.
    package func lockedBundles(_ names: [CollectionID], limits: Limits) throws -> [BundleReader] {
        let lock = try lockFile(limits: limits)
        let unknown = names.filter { lock.collections[$0] == nil }
        guard unknown.isEmpty else { throw DumpsError.notLocked(unknown, lockPath) }
        guard !lock.collections.isEmpty else { throw DumpsError.nothingLocked(lockPath) }
        let wanted = names.isEmpty ? Array(lock.collections.keys) : Array(Set(names))
        return try wanted.sorted().map { id in
            let bundle = try BundleReader(path: bundlePath(id), limits: limits)
            try bundle.verifyContents()
            let content = Manifest.digest(of: try bundle.manifestText())
            guard bundle.head.collection == id, content == lock.collections[id]?.content else {
                throw BundleError(
                    .disagreement, file: bundle.name, expected: "the content that the lock names for \(id)",
                    found: content.hex)
            }
            return bundle
        }
    }
}
