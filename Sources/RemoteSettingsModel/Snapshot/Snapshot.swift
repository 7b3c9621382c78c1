/// A collection's full state at one timestamp, together with what vouches for it.
///
/// It can only be made by this package: from a verified signature, or where the configuration says in words that an
/// unsigned or imported collection is accepted.
package struct Snapshot: Sendable {
    package let collection: CollectionID
    package let payload: Payload
    package let metadata: CollectionMetadata
    /// The PEM chain that the signature was verified with; `nil` where there is no signature.
    package let chain: Bytes?
    package let provenance: Provenance

    /// The timestamp that the payload states.
    package var timestamp: Timestamp { payload.timestamp }
    package var records: RecordTable { payload.records }

    package init(vouchingFor unverified: UnverifiedSnapshot, chain: Bytes?, provenance: Provenance) {
        collection = unverified.collection
        payload = unverified.payload
        metadata = unverified.metadata
        self.chain = chain
        self.provenance = provenance
    }
}

/// A collection's full state at one timestamp, not verified yet.
///
/// Neither the bundle writer nor a cache takes it: verification (`ContentSignature`) turns it into a ``Snapshot``.
package struct UnverifiedSnapshot: Sendable {
    package let collection: CollectionID
    package let payload: Payload
    package let metadata: CollectionMetadata

    /// The timestamp that the payload states.
    package var timestamp: Timestamp { payload.timestamp }
    package var records: RecordTable { payload.records }
    /// The signatures that the metadata carries.
    package var signatures: [ServedSignature] { metadata.signatures }

    package init(collection: CollectionID, payload: Payload, metadata: CollectionMetadata) {
        self.collection = collection
        self.payload = payload
        self.metadata = metadata
    }
}
