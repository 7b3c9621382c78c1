import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    /// Opens the named bundles, or all that the lock lists, sorted by collection, and checks that each holds exactly the
    /// content that the lock names. Reads every byte of them.
    ///
    /// Signatures are not verified: `rsdump verify` does that.
    ///
    /// - Throws: ``DumpsError`` where a name is not in the lock, or the lock lists no bundles; `BundleError` or `FileError`.
    public func lockedBundles(_ names: [CollectionID], limits: Limits) throws -> [BundleReader] {
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
