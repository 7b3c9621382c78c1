import RemoteSettingsModel
import SnapshotBundle
import Synchronization

/// A packaged bundle of one collection, opened when it is first needed and kept open.
final class PackagedBundle: Sendable {
    let entry: PackagedIndex.Entry
    private let id: CollectionID
    private let limits: Limits
    private let opened = Mutex<BundleReader?>(nil)

    /// Whether nobody can change the bundle who could not change the program as well.
    var isTrusted: Bool { entry.isTrusted }

    init(_ entry: PackagedIndex.Entry, of id: CollectionID, limits: Limits) {
        self.entry = entry
        self.id = id
        self.limits = limits
    }

    /// Does I/O at the first call.
    func reader() throws(BundleError) -> BundleReader {
        if let reader = opened.withLock({ $0 }) { return reader }
        let reader = try entry.open(id, limits: limits)
        opened.withLock { $0 = reader }
        return reader
    }

    var sourceName: String { entry.source.name }
}
