import RemoteSettingsModel
import SnapshotBundle

/// What is served, as the page shows it: one state, whatever a refresh does meanwhile.
package struct PageCatalog: Sendable {
    /// An older snapshot of a collection that changes can be shown against.
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
        /// What vouches for the snapshot; the server has verified it.
        package let provenance: Provenance
        /// Where the snapshot came from: the URL of a server, or what it was imported from; `nil` where that is unknown.
        package let server: String?
        /// What the collection is pinned to, in a few words; `nil` where it is not pinned.
        package let pin: String?
        /// Newest first, all older than the bundle.
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

    /// Sorted by id.
    package let collections: [Collection]
    /// The collections that are not served, or not in the state that the lock names, and why.
    package let problems: [CollectionID: String]

    package init(collections: [Collection], problems: [CollectionID: String] = [:]) {
        self.collections = collections.sorted { $0.id < $1.id }
        self.problems = problems
    }

    subscript(id: CollectionID) -> Collection? { collections.first { $0.id == id } }
}
