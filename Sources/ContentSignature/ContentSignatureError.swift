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
    /// There is other text where a certificate should begin, or no certificate at all. `found` quotes nothing but PEM labels: an
    /// `x5u` may lead to any machine, and its answers must not end up in logs.
    case notPEM(found: String)
    /// A certificate begins and does not end. Counted from 1.
    case truncatedPEM(certificate: Int)
    case malformedPEM(certificate: Int, reason: String)
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
    case untrustedRoot(found: SHA256Digest, pinned: [SHA256Digest])

    // MARK: A chain's certificates
    case expired(CertificateLabel, notBefore: Timestamp, notAfter: Timestamp, time: Timestamp)
    case notYetValid(CertificateLabel, notBefore: Timestamp, notAfter: Timestamp, time: Timestamp)
    /// None of the leaf's DNS names, `found`, is the one expected.
    case wrongSigner(expected: SignerName, found: [String])
    case wrongKeyType(CertificateLabel, found: String)
    case leafIsAuthority(CertificateLabel)
    case notAnAuthority(CertificateLabel)
    case pathLengthExceeded(CertificateLabel, limit: Int, found: Int)
    case missingKeyUsage(CertificateLabel, usage: String)
    case missingExtendedKeyUsage(CertificateLabel, found: [String])
    case nameNotPermitted(CertificateLabel, name: String, by: CertificateLabel, permitted: [String])
    case nameExcluded(CertificateLabel, name: String, by: CertificateLabel, excluded: String)
    /// The first certificate constrains names of a form that is not processed, and `certificate` carries such a name, or
    /// may do so.
    case unsupportedNameConstraint(CertificateLabel, form: String, certificate: CertificateLabel)
    /// It has another version than 3, the only one with extensions.
    case notVersion3(CertificateLabel)
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
    /// There are signatures, and none names a certificate chain (`x5u` is empty).
    case noChains(CollectionID)
    case tooManySignatures(CollectionID, count: Int, limit: Int)
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
    case r
    case s
}

/// Why r or s of an ECDSA signature is out of range.
public enum SignatureRangeFault: Hashable, Sendable {
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
