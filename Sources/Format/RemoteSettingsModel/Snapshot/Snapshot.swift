/// A collection's full state at one timestamp, which is trusted.
///
/// `SnapshotVerifier.believe` creates it, and nothing else: from a verified signature, or if the configuration
/// explicitly accepts an unsigned or imported collection.
package struct Snapshot: Sendable {
    package let collection: CollectionID
    package let payload: Payload
    package let metadata: CollectionMetadata
    /// The PEM certificate chain with which the signature was verified; `nil` if there is no signature.
    package private(set) var chain: Bytes?
    package let provenance: Provenance

    /// The payload's timestamp.
    package var timestamp: Timestamp { payload.timestamp }
    package var records: RecordTable { payload.records }

    package init(vouchingFor unverified: UnverifiedSnapshot, chain: Bytes?, provenance: Provenance) {
        collection = unverified.collection
        payload = unverified.payload
        metadata = unverified.metadata
        self.chain = chain
        self.provenance = provenance
    }

    /// The same state before it was trusted.
    package var unverified: UnverifiedSnapshot {
        UnverifiedSnapshot(collection: collection, payload: payload, metadata: metadata)
    }

    /// Returns the snapshot with further certificate chains of its signatures beside its own.
    package func with(chain: Bytes) -> Snapshot {
        var copy = self
        copy.chain = chain
        return copy
    }
}

/// A collection's full state at one timestamp, not yet verified.
///
/// The bundle writer and the cache do not accept it. `SnapshotVerifier.believe` turns it into a ``Snapshot``.
package struct UnverifiedSnapshot: Sendable {
    package let collection: CollectionID
    package let payload: Payload
    package let metadata: CollectionMetadata

    /// The payload's timestamp.
    package var timestamp: Timestamp { payload.timestamp }
    package var records: RecordTable { payload.records }
    /// The signatures in the metadata.
    package var signatures: [ServedSignature] { metadata.signatures }

    package init(collection: CollectionID, payload: Payload, metadata: CollectionMetadata) {
        self.collection = collection
        self.payload = payload
        self.metadata = metadata
    }
}
