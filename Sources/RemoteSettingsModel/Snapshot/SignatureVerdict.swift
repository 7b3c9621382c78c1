/// What a successful verification found. It can only be made by this package.
public struct SignatureVerdict: Hashable, Sendable {
    /// The leaf certificate's name, such as `remote-settings.content-signature.mozilla.org`.
    public let signer: String
    /// SHA-256 of the root certificate's DER.
    public let root: SHA256Digest
    /// When the first certificate of the chain expires.
    public let chainNotAfter: Timestamp
    /// The time that the chain was verified at, as the caller gave it.
    public let verifiedAt: Timestamp

    package init(signer: String, root: SHA256Digest, chainNotAfter: Timestamp, verifiedAt: Timestamp) {
        self.signer = signer
        self.root = root
        self.chainNotAfter = chainNotAfter
        self.verifiedAt = verifiedAt
    }
}
