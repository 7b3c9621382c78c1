/// What vouches for a collection's records.
public enum Provenance: Hashable, Sendable {
    /// A content signature that was verified up to a pinned root. Where a lock says so it is the lock's claim: whoever has
    /// to be certain verifies the bundle.
    case signed(SignatureVerdict)
    /// Nothing: the server does not sign, and the configuration accepts that.
    case unsigned
    /// Nothing: the records were imported from a source that carries no signature.
    case imported

    /// Provenance without what verification found: all that a bundle's first bytes say.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A content signature, in `metadata.json`, with its chain in `chain.pem`.
        case signed
        /// Nothing: the server does not sign.
        case unsigned
        /// Nothing: the records were imported from a source that carries no signature.
        case imported
    }

    public var kind: Kind {
        switch self {
        case .signed: .signed
        case .unsigned: .unsigned
        case .imported: .imported
        }
    }

    public var isSigned: Bool { verdict != nil }

    /// What verification found; `nil` where nothing is signed.
    public var verdict: SignatureVerdict? {
        if case .signed(let verdict) = self { verdict } else { nil }
    }
}

/// What a successful verification found, or what a lock says that one found. It can only be made by this package.
public struct SignatureVerdict: Hashable, Sendable {
    /// The leaf certificate's name, such as `remote-settings.content-signature.mozilla.org`.
    public let signer: String
    /// SHA-256 of the root certificate's DER.
    public let root: SHA256Digest
    /// When the first certificate of the chain expires.
    public let chainNotAfter: Timestamp
    /// The time that the chain was verified at, as the caller gave it; a packaged bundle is verified again at this time.
    public let verifiedAt: Timestamp

    package init(signer: String, root: SHA256Digest, chainNotAfter: Timestamp, verifiedAt: Timestamp) {
        self.signer = signer
        self.root = root
        self.chainNotAfter = chainNotAfter
        self.verifiedAt = verifiedAt
    }
}
