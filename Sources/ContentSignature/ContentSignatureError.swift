import RemoteSettingsModel

/// Why a chain, a signature or a snapshot is not to be trusted.
///
/// Every case says one thing that is wrong; ``description`` adds what was expected, what was found and what to do.
public enum ContentSignatureError: Error, Hashable, Sendable {
    // MARK: The configuration
    /// A pinned root that is not the SHA-256 of a certificate in hexadecimal digits.
    case invalidRootHash(found: String, reason: String)

    // MARK: A chain's text
    /// The chain has no text.
    case emptyChain
    /// The chain is longer than `Limits` allow, in bytes.
    case chainTooLarge(bytes: Int, limit: Int)
    /// The chain has more certificates than `Limits` allow.
    case tooManyCertificates(limit: Int)
    /// There is other text where a certificate should begin, or no certificate at all. `found` quotes nothing but PEM
    /// labels: an `x5u` may lead to any machine, and its answers must not end up in logs.
    case notPEM(found: String)
    /// A certificate begins and does not end. Counted from 1.
    case truncatedPEM(certificate: Int)
    /// The text between the PEM labels is not base64. Certificates are counted from 1.
    case malformedPEM(certificate: Int, reason: String)
    /// The bytes are not an X.509 certificate (RFC 5280). Certificates are counted from 1.
    case malformedCertificate(certificate: Int, reason: String)
    /// There is one certificate only; even a root that signs leaves itself makes two.
    case incompleteChain(only: CertificateLabel)

    // MARK: A chain's order and root
    /// All that belongs to a chain is there, in another order than `expected`.
    case reordered(expected: [CertificateLabel])
    /// The chain would be whole without this certificate.
    case unrelatedCertificate(CertificateLabel)
    /// The next certificate has another name than this one's `issuer`.
    case notIssuedByNext(CertificateLabel, issuer: String, next: CertificateLabel)
    /// The last certificate was issued by another one.
    case rootMissing(last: CertificateLabel)
    /// The chain ends in a root that is not pinned. The digests are those of the certificates' DER.
    case untrustedRoot(found: SHA256Digest, pinned: [SHA256Digest])

    // MARK: A chain's certificates
    /// The certificate ended before `time`, the time to verify at.
    case expired(CertificateLabel, notBefore: Timestamp, notAfter: Timestamp, time: Timestamp)
    /// The certificate begins after `time`, the time to verify at.
    case notYetValid(CertificateLabel, notBefore: Timestamp, notAfter: Timestamp, time: Timestamp)
    /// None of the leaf's DNS names, `found`, is the one expected.
    case wrongSigner(expected: SignerName, found: [String])
    /// The key is not on the curve P-384.
    case wrongKeyType(CertificateLabel, found: String)
    /// The first certificate may issue others, and so must not sign content.
    case leafIsAuthority(CertificateLabel)
    /// A certificate that issued another has no basic constraints that allow it (RFC 5280, section 4.2.1.9).
    case notAnAuthority(CertificateLabel)
    /// More authorities follow this one than its path length allows (RFC 5280, section 4.2.1.9).
    case pathLengthExceeded(CertificateLabel, limit: Int, found: Int)
    /// The key usage does not include `usage` (RFC 5280, section 4.2.1.3).
    case missingKeyUsage(CertificateLabel, usage: String)
    /// There is an extended key usage, and code signing is not in it (RFC 5280, section 4.2.1.12).
    case missingExtendedKeyUsage(CertificateLabel, found: [String])
    /// A name is outside of what an authority is limited to (RFC 5280, section 4.2.1.10).
    case nameNotPermitted(CertificateLabel, name: String, by: CertificateLabel, permitted: [String])
    /// A name is one that an authority must not issue for (RFC 5280, section 4.2.1.10).
    case nameExcluded(CertificateLabel, name: String, by: CertificateLabel, excluded: String)
    /// The first certificate constrains names of a form that is not processed, and `certificate` carries such a name, or
    /// may do so.
    case unsupportedNameConstraint(CertificateLabel, form: String, certificate: CertificateLabel)
    /// The certificate has another version than 3, the only one with extensions.
    case notVersion3(CertificateLabel)
    /// The certificate has a critical extension that is not processed, and so must be refused (RFC 5280, section 4.2).
    case unknownCriticalExtension(CertificateLabel, oid: String)
    /// An extension's value does not have the form that RFC 5280 gives it.
    case malformedExtension(CertificateLabel, oid: String, reason: String)
    /// The certificate is signed over SHA-1.
    case weakSignatureAlgorithm(CertificateLabel, algorithm: String)
    /// The issuer's key did not sign this certificate.
    case invalidCertificateSignature(CertificateLabel, issuer: CertificateLabel)

    // MARK: One signature
    /// The signature is not base64 in the alphabet for URLs (RFC 4648, section 5).
    case malformedBase64(reason: String)
    /// The signature has another length than the 96 bytes of r and s on P-384.
    case wrongSignatureLength(found: Int)
    /// A component of the signature is not between 1 and the order of the curve.
    case signatureOutOfRange(SignatureComponent, SignatureRangeFault)
    /// The signer's key did not sign this content.
    case signatureMismatch(signer: SignerName)

    // MARK: A snapshot's signatures
    /// The metadata has no signature.
    case noSignatures(CollectionID)
    /// There are signatures, and none names a certificate chain (`x5u` is empty).
    case noChains(CollectionID)
    /// The metadata has more signatures than `Limits` allow.
    case tooManySignatures(CollectionID, count: Int, limit: Int)
    /// No signature is in a mode that is known, which is `p384ecdsa`.
    case onlyUnknownModes(CollectionID, modes: [String])
    /// The caller did not supply this chain.
    case chainMissing(x5u: String)
    /// For callers: the collection's timestamp is later than the time at which it was verified allows.
    case newerThanVerification(CollectionID, timestamp: Timestamp, time: Timestamp)
    /// The chain that a signature names could not be fetched or read. Callers use it for chains that they supply.
    case chainUnavailable(reason: String)
    /// The chain was verified for another name than this collection's signatures need.
    case signerMismatch(expected: SignerName, chain: SignerName)
    /// Every signature in a known mode failed, for the listed reasons.
    case noValidSignature(CollectionID, [SignatureFailure])
}

/// One of the two numbers of an ECDSA signature.
public enum SignatureComponent: String, Hashable, Sendable {
    /// The first number.
    case r
    /// The second number.
    case s
}

/// Why r or s of an ECDSA signature is out of range.
public enum SignatureRangeFault: Hashable, Sendable {
    /// Zero.
    case zero
    /// n, the order of the curve's base point, or more.
    case notBelowOrder
}

/// Why one of several signatures is not valid.
public struct SignatureFailure: Hashable, Sendable, CustomStringConvertible {
    /// Counted from 1, in the order of the metadata.
    public let position: Int
    /// The URL of the certificate chain, as the metadata names it.
    public let x5u: String
    /// Why this signature is not valid.
    public let reason: ContentSignatureError

    public var description: String { "signature \(position), chain \(quoted(x5u)): \(reason)" }
}
