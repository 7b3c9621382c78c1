/// A collection's full state at one timestamp as somebody claims it. Nothing vouches for it yet.
///
/// Neither the bundle writer nor a cache takes it: verification (`ContentSignature`) turns it into a ``Snapshot``.
public struct UnverifiedSnapshot: Sendable {
    public let collection: CollectionID
    public let timestamp: Timestamp
    /// The signed payload without its prefix: canonical JSON of `{"data": [record…], "last_modified": "<timestamp>"}`.
    public let payload: Bytes
    /// The collection's metadata, byte for byte as served.
    public let metadata: Bytes
    /// The signatures that the metadata carries.
    public let signatures: [ServedSignature]

    public init(
        collection: CollectionID, timestamp: Timestamp, payload: Bytes, metadata: Bytes,
        signatures: [ServedSignature]
    ) {
        self.collection = collection
        self.timestamp = timestamp
        self.payload = payload
        self.metadata = metadata
        self.signatures = signatures
    }
}
