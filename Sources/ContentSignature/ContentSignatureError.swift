import RemoteSettingsModel

/// Why a chain, a signature or a snapshot is not to be trusted.
///
/// Every case says one thing that is wrong; ``description`` adds what was expected, what was found and what to do.
public enum ContentSignatureError: Error, Hashable, Sendable {
    // MARK: The configuration
    case invalidRootHash(found: String, reason: String)

    // MARK: A chain's text
    case emptyChain
    case chainTooLarge(bytes: Int, limit: Int)
    case tooManyCertificates(limit: Int)
    case notPEM(found: String)
    case truncatedPEM(certificate: Int)
    case malformedPEM(certificate: Int, reason: String)
    case malformedCertificate(certificate: Int, reason: String)
    case incompleteChain(only: CertificateLabel)

    // MARK: A chain's order and root
    case reordered(expected: [CertificateLabel])
    case unrelatedCertificate(CertificateLabel)
    case notIssuedByNext(CertificateLabel, issuer: String, next: CertificateLabel)
    case rootMissing(last: CertificateLabel)
    case untrustedRoot(found: SHA256Digest, pinned: [SHA256Digest])

    // MARK: A chain's certificates
    case expired(CertificateLabel, notBefore: Timestamp, notAfter: Timestamp, time: Timestamp)
    case notYetValid(CertificateLabel, notBefore: Timestamp, notAfter: Timestamp, time: Timestamp)
    case wrongSigner(expected: SignerName, found: [String])
    case wrongKeyType(CertificateLabel, found: String)
    case leafIsAuthority(CertificateLabel)
    case notAnAuthority(CertificateLabel)
    case pathLengthExceeded(CertificateLabel, limit: Int, found: Int)
    case missingKeyUsage(CertificateLabel, usage: String)
    case missingExtendedKeyUsage(CertificateLabel, found: [String])
    case nameNotPermitted(CertificateLabel, name: String, by: CertificateLabel, permitted: [String])
    case nameExcluded(CertificateLabel, name: String, by: CertificateLabel, excluded: String)
    case unsupportedNameConstraint(CertificateLabel, form: String, certificate: CertificateLabel)
    case unknownCriticalExtension(CertificateLabel, oid: String)
    case malformedExtension(CertificateLabel, oid: String, reason: String)
    case weakSignatureAlgorithm(CertificateLabel, algorithm: String)
    case invalidCertificateSignature(CertificateLabel, issuer: CertificateLabel)

    // MARK: One signature
    case malformedBase64(reason: String)
    case wrongSignatureLength(found: Int)
    case signatureOutOfRange(SignatureComponent, SignatureRangeFault)
    case signatureMismatch(signer: SignerName)

    // MARK: A snapshot's signatures
    case noSignatures(CollectionID)
    case tooManySignatures(CollectionID, count: Int, limit: Int)
    case onlyUnknownModes(CollectionID, modes: [String])
    case timestampMismatch(CollectionID, claimed: Timestamp, payloadEnd: String)
    case chainMissing(x5u: String)
    case chainUnavailable(reason: String)
    case signerMismatch(expected: SignerName, chain: SignerName)
    case noValidSignature(CollectionID, [SignatureFailure])
}

/// One of the two numbers of an ECDSA signature.
public enum SignatureComponent: String, Hashable, Sendable {
    case r
    case s
}

/// Why a number of an ECDSA signature is none.
public enum SignatureRangeFault: Hashable, Sendable {
    case zero
    /// n, the order of the curve's base point, or more.
    case notBelowOrder
}

/// What one of several signatures failed with.
public struct SignatureFailure: Hashable, Sendable, CustomStringConvertible {
    /// Counted from 1, in the order of the metadata.
    public let position: Int
    public let x5u: String
    public let reason: ContentSignatureError

    public var description: String { "signature \(position), chain \(quoted(x5u)): \(reason)" }
}
