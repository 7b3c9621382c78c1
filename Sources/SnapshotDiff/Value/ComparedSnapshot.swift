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
    public let timestamp: Timestamp
    public let payload: Bytes
    public let records: RecordTable
    public let trust: Trust
    /// The hashes of the attachments in the bundle, sorted; `nil` where the side is no bundle.
    public let packaged: [SHA256Digest]?

    /// The state that a snapshot holds, such as one that was just fetched and verified. No I/O.
    ///
    /// - Throws: `ChangesetError` where the payload is not canonical.
    public init(_ snapshot: Snapshot, limits: Limits = Limits()) throws(ChangesetError) {
        let (records, _) = try Payload.read(snapshot.payload, limits: limits)
        let trust: Trust =
            switch snapshot.provenance {
            case .signed(let verdict): .signed(by: verdict.signer)
            case .unsigned: .unsigned
            case .imported: .imported
            }
        self.init(
            collection: snapshot.collection, timestamp: snapshot.timestamp, payload: snapshot.payload, records: records,
            trust: trust, packaged: nil)
    }

    /// The state that a bundle holds. Inflates the bundle's payload; verifies nothing.
    ///
    /// - Parameter signer: the name that the lock gives.
    /// - Throws: `BundleError` where the payload is damaged or not what the bundle's head says.
    public init(_ bundle: BundleReader, signer: String? = nil) throws(BundleError) {
        let payload = try bundle.payload()
        let trust: Trust =
            switch bundle.head.trust {
            case .signed: .signed(by: signer)
            case .unsigned: .unsigned
            case .imported: .imported
            }
        self.init(
            collection: bundle.head.collection, timestamp: bundle.head.timestamp, payload: payload,
            records: try bundle.records(of: payload), trust: trust, packaged: Array(bundle.attachments))
    }

    private init(
        collection: CollectionID, timestamp: Timestamp, payload: Bytes, records: RecordTable, trust: Trust,
        packaged: [SHA256Digest]?
    ) {
        self.collection = collection
        self.timestamp = timestamp
        self.payload = payload
        self.records = records
        self.trust = trust
        self.packaged = packaged
    }
}
