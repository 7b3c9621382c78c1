/// A collection's full state at one timestamp, together with what vouches for it.
///
/// It can only be made by this package: from a verified signature, or where the configuration says in words that an
/// unsigned or imported collection is accepted.
public struct Snapshot: Sendable {
    /// What vouches for a snapshot.
    public enum Provenance: Hashable, Sendable {
        /// A content signature that was verified up to a pinned root.
        case signed(SignatureVerdict)
        /// Nothing: the server does not sign, and the configuration accepts that.
        case unsigned
        /// Nothing: it was imported from a source that carries no signature.
        case imported
    }

    public let collection: CollectionID
    public let timestamp: Timestamp
    /// The signed payload without its prefix: canonical JSON of `{"data": [record…], "last_modified": "<timestamp>"}`.
    public let payload: Bytes
    /// The collection's metadata, byte for byte as served.
    public let metadata: Bytes
    /// The PEM chain that the signature was verified with; `nil` where there is no signature.
    public let chain: Bytes?
    public let provenance: Provenance

    package init(vouchingFor unverified: UnverifiedSnapshot, chain: Bytes?, provenance: Provenance) {
        collection = unverified.collection
        timestamp = unverified.timestamp
        payload = unverified.payload
        metadata = unverified.metadata
        self.chain = chain
        self.provenance = provenance
    }
}
