import RemoteSettingsModel
import SnapshotBundle

/// One side of a comparison: a collection's records at one timestamp, what vouches for them, and which attachments are
/// packaged with them.
public struct ComparedSnapshot: Sendable {
    /// What vouches for the records, as the side itself says; a comparison verifies nothing.
    public enum Trust: Hashable, Sendable {
        /// A content signature. The signer is the leaf certificate's name, `nil` where only the bundle is at hand.
        case signed(by: String?)
        case unsigned
        case imported
    }

    public let collection: CollectionID
    public let payload: Payload
    public let trust: Trust
    /// The hashes of the attachments in the bundle, sorted; `nil` where the side is no bundle.
    public let packaged: [SHA256Digest]?

    public var timestamp: Timestamp { payload.timestamp }
    public var records: RecordTable { payload.records }

    /// The state that a snapshot holds, such as one that was just fetched and verified. No I/O.
    public init(_ snapshot: Snapshot) {
        let trust: Trust =
            switch snapshot.provenance {
            case .signed(let verdict): .signed(by: verdict.signer)
            case .unsigned: .unsigned
            case .imported: .imported
            }
        self.init(collection: snapshot.collection, payload: snapshot.payload, trust: trust, packaged: nil)
    }

    /// The state that a bundle holds. Inflates the bundle's payload; verifies nothing.
    ///
    /// - Parameter signer: the name that the lock gives.
    /// - Throws: `BundleError` where the payload is damaged or not what the bundle's head says.
    public init(_ bundle: BundleReader, signer: String? = nil) throws(BundleError) {
        let trust: Trust =
            switch bundle.head.trust {
            case .signed: .signed(by: signer)
            case .unsigned: .unsigned
            case .imported: .imported
            }
        self.init(
            collection: bundle.head.collection, payload: try bundle.payload(), trust: trust,
            packaged: Array(bundle.attachments))
    }

    private init(
        collection: CollectionID, payload: Payload, trust: Trust, packaged: [SHA256Digest]?
    ) {
        self.collection = collection
        self.payload = payload
        self.trust = trust
        self.packaged = packaged
    }
}
