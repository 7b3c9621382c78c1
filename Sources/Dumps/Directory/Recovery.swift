import FileStorage
import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    /// The lock with the bundles of an interrupted refresh taken over: where the file is the one that was noted, the note
    /// becomes the lock's entry. Does I/O; writes nothing.
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

    /// Gives a finished bundle its name, after noting what the lock will say of it. The name is on the disk once the lock
    /// is written.
    package func name(_ id: CollectionID, _ entry: LockFile.Collection) throws(FileError) {
        try writePending(id, entry)
        let path = bundlePath(id)
        try FileStore.makeDirectories(FileStore.parent(of: path))
        try FileStore.rename(packPath(id), to: path, flushing: false)
    }
}
