import RemoteSettingsModel

/// What has to vouch for a collection before its records are taken.
public struct TrustPolicy: Hashable, Sendable {
    /// The pinned roots.
    public var roots: TrustAnchors
    /// The leaf certificate's name; `nil` for the one that Mozilla signs the collection's bucket with.
    public var signer: SignerName?
    /// Whether a collection without any signature is taken. Bundle and lock then say `unsigned`, for ever.
    public var acceptsUnsigned: Bool

    public init(roots: TrustAnchors, signer: SignerName? = nil, acceptsUnsigned: Bool = false) {
        self.roots = roots
        self.signer = signer
        self.acceptsUnsigned = acceptsUnsigned
    }

    /// The name that a leaf certificate must carry to sign for `collection`.
    public func signer(for collection: CollectionID) -> SignerName { signer ?? .expected(for: collection) }
}
