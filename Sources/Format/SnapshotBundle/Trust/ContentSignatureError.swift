import RemoteSettingsModel

/// Why a chain, a signature or a snapshot cannot be trusted.
///
/// Each case is one problem. Its ``description`` adds what was expected, what was found, and what to do.
package enum ContentSignatureError: Error, Hashable, Sendable {
    // MARK: The configuration
    /// A pinned root is not the SHA-256 of a certificate in hexadecimal digits.
    case invalidRootHash(found: String, reason: String)

    // MARK: A chain's text
    /// The chain has no text.
    case emptyChain
    /// The chain has more bytes than `Limits` allows.
    case chainTooLarge(bytes: Int, limit: Int)
    /// The chain has more certificates than `Limits` allows.
    case tooManyCertificates(limit: Int)
    /// There is other text in place of a certificate, or no certificate at all.
    ///
    /// `found` quotes only PEM labels. An `x5u` may lead to any machine, and what that machine answers must not end up
    /// in logs.
    case notPEM(found: String)
    /// A certificate has a beginning but no end. Certificates are counted from 1.
    case truncatedPEM(certificate: Int)
    /// The text between the PEM labels is not base64. Certificates are counted from 1.
    case malformedPEM(certificate: Int, reason: String)
    /// The bytes are not an X.509 certificate (RFC 5280). Certificates are counted from 1.
    case malformedCertificate(certificate: Int, reason: String)
    /// There is only one certificate. A chain requires two, even if a root signs leaves directly.
    case incompleteChain(only: CertificateLabel)

    // MARK: A chain's order and root
    /// The chain is complete, but its order is not `expected`.
    case reordered(expected: [CertificateLabel])
    /// The chain would be complete without this certificate.
    case unrelatedCertificate(CertificateLabel)
    /// The name of the next certificate is not this one's `issuer`.
    case notIssuedByNext(CertificateLabel, issuer: String, next: CertificateLabel)
    /// The chain's last certificate was issued by another certificate.
    case rootMissing(last: CertificateLabel)
    /// The chain ends in a root that is not pinned. The digests are those of the certificates' DER.
    case untrustedRoot(found: SHA256Digest, pinned: [SHA256Digest])

    // MARK: A chain's certificates
    /// The certificate expired before `time`, the time of verification.
    case expired(CertificateLabel, notBefore: Timestamp, notAfter: Timestamp, time: Timestamp)
    /// The certificate becomes valid after `time`, the time of verification.
    case notYetValid(CertificateLabel, notBefore: Timestamp, notAfter: Timestamp, time: Timestamp)
    /// None of the leaf's DNS names, `found`, is the expected one.
    case wrongSigner(expected: SignerName, found: [String])
    /// The key is not on the curve P-384.
    case wrongKeyType(CertificateLabel, found: String)
    /// The first certificate may issue others, so it must not sign content.
    case leafIsAuthority(CertificateLabel)
    /// A certificate that issued another has no basic constraints that allow it (RFC 5280, section 4.2.1.9).
    case notAnAuthority(CertificateLabel)
    /// There are more intermediate authorities below this one than its path length allows (RFC 5280, section 4.2.1.9).
    case pathLengthExceeded(CertificateLabel, limit: Int, found: Int)
    /// The key usage does not include `usage` (RFC 5280, section 4.2.1.3).
    case missingKeyUsage(CertificateLabel, usage: String)
    /// There is an extended key usage, but it does not include code signing (RFC 5280, section 4.2.1.12).
    case missingExtendedKeyUsage(CertificateLabel, found: [String])
    /// A name is outside the names that an authority is limited to (RFC 5280, section 4.2.1.10).
    case nameNotPermitted(CertificateLabel, name: String, by: CertificateLabel, permitted: [String])
    /// An authority excludes this name (RFC 5280, section 4.2.1.10).
    case nameExcluded(CertificateLabel, name: String, by: CertificateLabel, excluded: String)
    /// The first certificate constrains names of a form that is not supported. `certificate` has such a name, or may
    /// have one.
    case unsupportedNameConstraint(CertificateLabel, form: String, certificate: CertificateLabel)
    /// The certificate's version is not 3, which is the only version with extensions.
    case notVersion3(CertificateLabel)
    /// The certificate has an unknown critical extension, so it must be refused (RFC 5280, section 4.2).
    case unknownCriticalExtension(CertificateLabel, oid: String)
    /// An extension's value does not have the form that RFC 5280 defines.
    case malformedExtension(CertificateLabel, oid: String, reason: String)
    /// The certificate's signature uses SHA-1.
    case weakSignatureAlgorithm(CertificateLabel, algorithm: String)
    /// The issuer's key did not sign this certificate.
    case invalidCertificateSignature(CertificateLabel, issuer: CertificateLabel)

    // MARK: One signature
    /// The signature is not base64url (RFC 4648, section 5).
    case malformedBase64(reason: String)
    /// The signature does not have 96 bytes, the size of r and s on P-384.
    case wrongSignatureLength(found: Int)
    /// A component of the signature is zero, or not below the order of the curve.
    case signatureOutOfRange(SignatureComponent, SignatureRangeFault)
    /// The signer's key did not sign this content.
    case signatureMismatch(signer: SignerName)

    // MARK: A snapshot's signatures
    /// The metadata has no signature.
    case noSignatures(CollectionID)
    /// There are signatures, but none names a certificate chain (`x5u` is empty).
    case noChains(CollectionID)
    /// The metadata has more signatures than `Limits` allows.
    case tooManySignatures(CollectionID, count: Int, limit: Int)
    /// None of the signatures is in the only known mode, `p384ecdsa`.
    case onlyUnknownModes(CollectionID, modes: [String])
    /// The caller did not supply this chain.
    case chainMissing(x5u: String)
    /// The collection's timestamp is too late for the time of verification. Callers throw this.
    case newerThanVerification(CollectionID, timestamp: Timestamp, time: Timestamp)
    /// The chain that a signature names could not be fetched or read. Callers supply this in place of a chain.
    case chainUnavailable(reason: String)
    /// The chain was verified for another name than the one that must sign this collection.
    case signerMismatch(expected: SignerName, chain: SignerName)
    /// All signatures in a known mode failed, for the listed reasons.
    case noValidSignature(CollectionID, [SignatureFailure])
}

/// One of the two numbers of an ECDSA signature.
package enum SignatureComponent: String, Hashable, Sendable {
    /// The first number.
    case r
    /// The second number.
    case s
}

/// Why r or s of an ECDSA signature is out of range.
package enum SignatureRangeFault: Hashable, Sendable {
    /// The number is zero.
    case zero
    /// The number is at least n, the order of the curve's base point.
    case notBelowOrder
}

/// Why one of several signatures is not valid.
package struct SignatureFailure: Hashable, Sendable, CustomStringConvertible {
    /// The position in the metadata, counted from 1.
    let position: Int
    /// The URL of the certificate chain, as the metadata names it.
    let x5u: String
    /// Why this signature is not valid.
    package let reason: ContentSignatureError

    package var description: String { "signature \(position), chain \(VisibleText.quote(x5u)): \(reason)" }
}
