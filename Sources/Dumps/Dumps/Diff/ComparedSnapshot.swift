import RemoteSettingsModel
import SnapshotBundle

/// A collection's state on one side of a comparison.
///
/// It has the records at one timestamp, their provenance, and the hashes of their bundled attachments.
package struct ComparedSnapshot: Sendable {
    let collection: CollectionID
    let payload: Payload
    /// The provenance claimed by this side, which a comparison does not verify.
    let trust: Provenance.Kind
    /// The signer and root that this side claims; `nil` if the state is unsigned, or for a bundle without its lock
    /// file.
    let verdict: SignatureVerdict?
    /// The signatures in the bundle, sorted; `nil` if the state is not from a bundle.
    let signatures: [String]?
    /// The metadata members written by people, as an object; `nil` if this side does not include them.
    let metadata: Bytes?
    /// The hashes of the attachments in the bundle, sorted; `nil` if the state is not from a bundle.
    let packaged: [SHA256Digest]?
    /// The size of the bundle in bytes; `nil` if the state is not from a bundle.
    let size: UInt64?
    /// The guards that were overridden to accept the state, as recorded in the lock file.
    let accepted: [String]

    var timestamp: Timestamp { payload.timestamp }
    var records: RecordTable { payload.records }

    /// Creates the state of a snapshot, such as one just fetched and verified. Does no I/O.
    init(_ snapshot: Snapshot) {
        collection = snapshot.collection
        payload = snapshot.payload
        trust = snapshot.provenance.kind
        verdict = snapshot.provenance.verdict
        signatures = nil
        metadata = Self.written(snapshot.metadata)
        packaged = nil
        size = nil
        accepted = []
    }

    /// Creates a state that will be signed later. Does no I/O.
    package init(planned state: UnverifiedSnapshot) {
        collection = state.collection
        payload = state.payload
        trust = .signed
        verdict = nil
        signatures = nil
        metadata = Self.written(state.metadata)
        packaged = nil
        size = nil
        accepted = []
    }

    /// Creates the state of a bundle. Inflates the bundle's payload, and verifies nothing.
    ///
    /// - Parameter entry: its entry in the lock file; `nil` if there is none.
    /// - Throws: `Failure` if the payload is damaged or does not match the bundle's head.
    package init(_ bundle: BundleReader, lockedAs entry: LockFile.Collection? = nil) throws(Failure) {
        collection = bundle.head.collection
        payload = try bundle.payload()
        trust = bundle.head.trust
        verdict = trust == .signed ? entry?.trust.verdict : nil
        accepted = entry?.accepted ?? []
        let metadata = try bundle.metadata()
        signatures = metadata.signatures.map(\.signature).sorted()
        // Imported dumps have only generated metadata, which does not describe them.
        self.metadata = trust == .imported ? nil : Self.written(metadata)
        packaged = Array(bundle.attachments)
        size = bundle.size
    }

    private static func written(_ metadata: CollectionMetadata) -> Bytes? {
        guard let members = try? metadata.writtenMembers() else { return nil }
        return try? CanonicalJSON.canonicalize(Bytes(JSONText.compact(.object(members))))
    }
}
