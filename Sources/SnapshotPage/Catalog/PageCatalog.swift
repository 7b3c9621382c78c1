import RemoteSettingsModel
import SnapshotBundle

/// What is served, as the page shows it. A value: one answer shows one state, whatever a refresh does meanwhile.
public struct PageCatalog: Sendable {
    /// What is known about the signature of a snapshot.
    public enum Verdict: Hashable, Sendable {
        /// It was verified by this process, at the time that it names.
        case verified(SignatureVerdict)
        /// The lock says that it was verified; this process has not done it again.
        case locked(SignatureVerdict)
        /// The bundle holds a signature, and nobody has verified it.
        case unchecked
        /// Nobody signed it.
        case unsigned
        /// It was imported from a source without signatures.
        case imported
        /// Verification failed, and why.
        case failed(String)
    }

    /// An older snapshot of a collection that changes can be shown against.
    public struct OlderState: Sendable {
        public let timestamp: Timestamp
        /// Opens its bundle. May do I/O.
        public let bundle: @Sendable () async throws -> BundleReader

        public init(timestamp: Timestamp, bundle: @escaping @Sendable () async throws -> BundleReader) {
            self.timestamp = timestamp
            self.bundle = bundle
        }
    }

    public struct Collection: Sendable {
        public let bundle: BundleReader
        /// Bytes of the bundle's file.
        public let bundleSize: Int
        public let verdict: Verdict
        /// Where it came from: the URL of a server, or what it was imported from; `nil` where nobody says.
        public let server: String?
        /// What it is pinned to, in a few words; `nil` where it is not pinned.
        public let pin: String?
        /// Newest first, all older than the bundle.
        public let olderStates: [OlderState]

        public init(
            bundle: BundleReader, bundleSize: Int, verdict: Verdict, server: String? = nil, pin: String? = nil,
            olderStates: [OlderState] = []
        ) {
            self.bundle = bundle
            self.bundleSize = bundleSize
            self.verdict = verdict
            self.server = server
            self.pin = pin
            self.olderStates = olderStates
        }

        public var id: CollectionID { bundle.head.collection }
    }

    /// Sorted by id.
    public let collections: [Collection]
    /// The collections that are not served, or not in the state that the lock names, and why.
    public let problems: [CollectionID: String]

    public init(collections: [Collection], problems: [CollectionID: String] = [:]) {
        self.collections = collections.sorted { $0.id < $1.id }
        self.problems = problems
    }

    subscript(id: CollectionID) -> Collection? { collections.first { $0.id == id } }
}
