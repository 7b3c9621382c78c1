/// The origin of a collection's records, and the reason to trust them.
///
/// Closed: no version adds a case.
public enum Provenance: Hashable, Sendable {
    /// A content signature that was verified against a pinned root.
    ///
    /// If the value was read from a lock file, it is only a claim of that file. Verifying the bundle checks the claim.
    case signed(SignatureVerdict)
    /// No signature: the server does not sign the records, and the configuration accepts that.
    case unsigned
    /// No signature: the records were imported from an unsigned source.
    case imported

    /// The provenance without the verdict, as in the first bytes of a bundle.
    ///
    /// Closed: no version adds a case.
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// A content signature in `metadata.json`, with its chain in `chain.pem`.
        case signed
        /// No signature: the server does not sign the records.
        case unsigned
        /// No signature: the records were imported from an unsigned source.
        case imported
    }

    /// The provenance without its verdict.
    public var kind: Kind {
        switch self {
        case .signed: .signed
        case .unsigned: .unsigned
        case .imported: .imported
        }
    }

    /// Whether the records have a verified content signature.
    public var isSigned: Bool { verdict != nil }

    /// The result of the verification; `nil` if there is no signature.
    public var verdict: SignatureVerdict? {
        if case .signed(let verdict) = self { verdict } else { nil }
    }
}

extension Provenance: Codable {
    private enum CodingKeys: String, CodingKey { case kind, verdict }

    /// Decodes a value that another process has encoded. A decoded verdict is only that document's claim.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        switch try members.decode(Kind.self, forKey: .kind) {
        case .signed: self = .signed(try members.decode(SignatureVerdict.self, forKey: .verdict))
        case .unsigned: self = .unsigned
        case .imported: self = .imported
        }
    }

    /// Encodes `kind`, and `verdict` if there is a signature.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(kind, forKey: .kind)
        try members.encodeIfPresent(verdict, forKey: .verdict)
    }
}

/// The result of a successful verification, or a claim of one in a lock file or a decoded report.
public struct SignatureVerdict: Codable, Hashable, Sendable {
    /// The name in the signing certificate, such as `remote-settings.content-signature.mozilla.org`.
    public let signer: String
    /// The SHA-256 of the root certificate's DER.
    public let root: SHA256Digest
    /// The time when the first certificate of the chain expires.
    public let chainNotAfter: Timestamp
    /// The time as of which the chain was verified, chosen by the caller. A packaged bundle is verified again for this
    /// time.
    public let verifiedAt: Timestamp

    package init(signer: String, root: SHA256Digest, chainNotAfter: Timestamp, verifiedAt: Timestamp) {
        self.signer = signer
        self.root = root
        self.chainNotAfter = chainNotAfter
        self.verifiedAt = verifiedAt
    }
}
