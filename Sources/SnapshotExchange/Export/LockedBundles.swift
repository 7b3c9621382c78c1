import RemoteSettingsModel
import SnapshotBuilder
import SnapshotBundle

/// The bundles of a dumps directory, each checked to be what the lock says.
public struct LockedBundles {
    private let directory: DumpsDirectory
    private let limits: Limits

    public init(_ directory: DumpsDirectory, limits: Limits) {
        self.directory = directory
        self.limits = limits
    }

    /// Opens the named bundles, or all that the lock has, sorted by collection. Reads every byte of them.
    ///
    /// Signatures are not verified: `rsdump verify` does that.
    ///
    /// - Throws: ``ExchangeError`` where a name is not in the lock, or the lock names none; `BundleError` or `FileError`.
    public func open(_ names: [CollectionID]) throws -> [BundleReader] {
        let lock = try directory.lockFile(limits: limits)
        if let unknown = names.first(where: { lock.collections[$0] == nil }) {
            throw ExchangeError(
                .usage, directory.lockPath, entry: "\(unknown)", expected: "this collection in the lock",
                found: "none of this name", remedy: "rsdump status shows the collections; rsdump refresh fetches them")
        }
        guard !lock.collections.isEmpty else {
            throw ExchangeError(
                .usage, directory.lockPath, expected: "bundles", found: "none",
                remedy: "fetch them with rsdump refresh, or name their directory with --dumps")
        }
        let wanted = names.isEmpty ? Array(lock.collections.keys) : Array(Set(names))
        return try wanted.sorted().map { id in
            let bundle = try BundleReader(path: directory.bundlePath(id), limits: limits)
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
