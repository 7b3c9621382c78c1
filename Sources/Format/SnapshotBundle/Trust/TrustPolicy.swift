import RemoteSettingsModel

/// The requirements that a collection's signature must meet before its records are accepted.
package struct TrustPolicy: Hashable, Sendable {
    /// The pinned roots.
    package var roots: TrustAnchors
    /// The name in the leaf certificate; `nil` for ``SignerName/expected(for:)``.
    package var signer: SignerName?
    /// Whether a collection without any signature is accepted. Its bundle and its lock file entry are then marked
    /// `unsigned`.
    package var acceptsUnsigned: Bool

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - roots: the pinned roots.
    ///   - signer: the name in the leaf certificate; `nil` for ``SignerName/expected(for:)``.
    ///   - acceptsUnsigned: whether a collection without any signature is accepted.
    package init(roots: TrustAnchors, signer: SignerName? = nil, acceptsUnsigned: Bool = false) {
        self.roots = roots
        self.signer = signer
        self.acceptsUnsigned = acceptsUnsigned
    }

    /// Returns the name that a leaf certificate must contain to sign `collection`.
    package func signer(for collection: CollectionID) -> SignerName { signer ?? .expected(for: collection) }
}

/// The pinned roots. A chain is trusted only if the SHA-256 of its root certificate's DER is in this list.
///
/// It is a list because a root may have to be replaced. During the transition, both roots are pinned.
public struct TrustAnchors: Hashable, Sendable {
    /// The SHA-256 of each root certificate's DER.
    package let roots: [SHA256Digest]

    /// Creates a list of pinned roots.
    ///
    /// - Parameter roots: the pinned hashes. With an empty list, nothing is trusted.
    package init(_ roots: [SHA256Digest]) {
        self.roots = roots
    }

    /// Parses hashes in the notations that people use, in upper or lower case.
    ///
    /// Each hash is either `C8:A8:0E:…` (32 pairs with colons) or 64 hexadecimal digits.
    ///
    /// - Throws: ``Failure/invalidRootHash(found:reason:)`` for the first text that is neither.
    package init(hashes texts: [String]) throws(Failure) {
        var roots: [SHA256Digest] = []
        for text in texts {
            roots.append(try TrustAnchors.rootHash(text))
        }
        self.roots = roots
    }

    /// Parses one hash, like ``init(hashes:)``.
    ///
    /// - Throws: ``Failure/invalidRootHash(found:reason:)``.
    package static func rootHash(_ text: String) throws(Failure) -> SHA256Digest {
        var digits = text
        if text.utf8.contains(UInt8(ascii: ":")) {
            let pairs = text.split(separator: ":", omittingEmptySubsequences: false)
            guard pairs.allSatisfy({ $0.utf8.count == 2 }) else {
                throw .invalidRootHash(found: text, reason: "colons must separate pairs of digits")
            }
            digits = pairs.joined()
        }
        guard digits.unicodeScalars.allSatisfy({ $0.properties.isASCIIHexDigit }) else {
            throw .invalidRootHash(found: text, reason: "it contains a character that is not a hexadecimal digit")
        }
        guard let digest = SHA256Digest(hex: digits.lowercased()) else {
            throw .invalidRootHash(found: text, reason: "it has \(digits.utf8.count) digits instead of 64")
        }
        return digest
    }

    /// The root of Mozilla's production servers (`firefox.settings.services.mozilla.com`).
    public static let mozillaProduction = TrustAnchors([
        SHA256Digest(0xC8A8_0E9A_FAEF_4E21, 0x9B6F_B5D7_A71D_0F10, 0x1223_BAC5_001A_C28F, 0x9B0D_43DC_59A1_06DB)
    ])

    /// The root of Mozilla's stage and development servers (`…allizom.org`).
    public static let mozillaStaging = TrustAnchors([
        SHA256Digest(0x3C01_446A_BE90_36CE, 0xA9A0_9ACA_A3A5_20AC, 0x628F_20A7_AE32_CE86, 0x1CB2_EFB7_0FA0_C745)
    ])
}

extension SHA256Digest {
    fileprivate init(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64) {
        let bytes = [a, b, c, d].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) }
        }
        guard let digest = SHA256Digest(bytes) else { preconditionFailure("four words are 32 bytes") }
        self = digest
    }
}
