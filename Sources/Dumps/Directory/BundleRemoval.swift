import FileStorage
import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    /// Removes bundles and their entries in the lock. Does I/O.
    ///
    /// The lock is written first: a bundle that the lock no longer names is litter, one that it names and that is missing
    /// would be a fault.
    ///
    /// - Throws: ``DumpsError/busy(_:)``, ``FileError``, or `BundleError` where the lock cannot be read.
    public func removeBundles(_ ids: [CollectionID], limits: Limits = Limits()) throws {
        guard let lock = try DirectoryLock(path) else { throw DumpsError.busy(path) }
        defer { withExtendedLifetime(lock) {} }
        let before = try lockFile(limits: limits)
        var after = before
        for id in ids { after.collections[id] = nil }
        if after != before { try writeLock(after) }
        for id in ids {
            try FileStore.remove(bundlePath(id))
            try FileStore.removeIfEmpty(FileStore.parent(of: bundlePath(id)))
        }
    }
}
