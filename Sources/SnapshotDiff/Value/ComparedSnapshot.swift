import RemoteSettingsModel
import SnapshotBundle

/// A collection's state on one side of a comparison: its records at one timestamp, their provenance, and the attachments
/// that are packaged with them.
package struct ComparedSnapshot: Sendable {
    package let collection: CollectionID
    package let payload: Payload
    /// The provenance that the side itself states; a comparison verifies nothing.
    package let trust: Provenance.Kind
    /// The leaf certificate's name; `nil` where nothing is signed, and where only the bundle is at hand.
    package let signer: String?
    /// The metadata's members that people write, as an object; `nil` where the side does not say.
    let metadata: Bytes?
    /// The hashes of the attachments in the bundle, sorted; `nil` where the state is not a bundle's.
    package let packaged: [SHA256Digest]?

    package var timestamp: Timestamp { payload.timestamp }
    package var records: RecordTable { payload.records }

    /// The state of a snapshot, such as one that was just fetched and verified. No I/O.
    package init(_ snapshot: Snapshot) {
        collection = snapshot.collection
        payload = snapshot.payload
        trust = snapshot.provenance.kind
        signer = snapshot.provenance.verdict?.signer
        metadata = Self.written(snapshot.metadata)
        packaged = nil
    }

    /// A state that is not signed yet, and will be. No I/O.
    package init(planned state: UnverifiedSnapshot) {
        collection = state.collection
        payload = state.payload
        trust = .signed
        signer = nil
        metadata = Self.written(state.metadata)
        packaged = nil
    }

    /// The state of a bundle. Inflates the bundle's payload; verifies nothing.
    ///
    /// - Parameter signer: the name in the lock.
    /// - Throws: `BundleError` where the payload is damaged or not what the bundle's head says.
    package init(_ bundle: BundleReader, signer: String? = nil) throws(BundleError) {
        collection = bundle.head.collection
        payload = try bundle.payload()
        trust = bundle.head.trust
        self.signer = trust == .signed ? signer : nil
        // The dumps of others have no metadata; what stands in its place says nothing.
        metadata = trust == .imported ? nil : Self.written(try bundle.metadata())
        packaged = Array(bundle.attachments)
    }

    private static func written(_ metadata: CollectionMetadata) -> Bytes? {
        guard let members = try? metadata.writtenMembers(limits: Limits()) else { return nil }
        return try? CanonicalJSON.canonicalize(Bytes(JSONText.compact(.object(members))), limits: Limits())
    }
}
