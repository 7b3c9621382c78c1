import RemoteSettingsModel
import SnapshotBundle

/// The collections that the web UI shows. A refresh does not change this snapshot of them.
package struct PageCatalog: Sendable {
    /// An older snapshot of a collection, for comparison with the current one.
    package struct OlderState: Sendable {
        package let timestamp: Timestamp
        /// Opens the snapshot's bundle. May do I/O.
        package let bundle: @Sendable () async throws -> BundleReader

        package init(timestamp: Timestamp, bundle: @escaping @Sendable () async throws -> BundleReader) {
            self.timestamp = timestamp
            self.bundle = bundle
        }
    }

    package struct Collection: Sendable {
        package let bundle: BundleReader
        /// The size of the bundle's file, in bytes.
        package let bundleSize: Int
        /// The provenance of the snapshot, as verified when the bundle was loaded.
        package let provenance: Provenance
        /// The source of the snapshot: a server's URL, or the source of an import; `nil` if unknown.
        package let server: String?
        /// A short description of the pin; `nil` if the collection is not pinned.
        package let pin: String?
        /// The older states, newest first.
        package let olderStates: [OlderState]

        package init(
            bundle: BundleReader, bundleSize: Int, provenance: Provenance, server: String? = nil, pin: String? = nil,
            olderStates: [OlderState] = []
        ) {
            self.bundle = bundle
            self.bundleSize = bundleSize
            self.provenance = provenance
            self.server = server
            self.pin = pin
            self.olderStates = olderStates
        }

        package var id: CollectionID { bundle.head.collection }
    }

    /// The collections, sorted by id.
    package let collections: [Collection]
    /// The collections that are not served or do not match the lock file, with the reason.
    package let problems: [CollectionID: String]
    /// The path of the server's public URL, without a trailing slash; usually empty.
    package let path: String

    package init(collections: [Collection], problems: [CollectionID: String] = [:], path: String = "") {
        self.collections = collections.sorted { $0.id < $1.id }
        self.problems = problems
        self.path = path
    }

    subscript(id: CollectionID) -> Collection? { collections.first { $0.id == id } }
}
