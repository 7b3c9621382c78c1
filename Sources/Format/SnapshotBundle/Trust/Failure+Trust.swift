import RemoteSettingsModel

// The reasons why a pinned root, a chain, a signature or a snapshot cannot be trusted.
extension Failure {
    // MARK: Configuration
    /// The text of a pinned root is not a SHA-256 in hexadecimal digits.
    static func invalidRootHash(found: String, reason: String) -> Self {
        Self(
            .certificate,
            "\(VisibleText.quote(found)) is not a root hash: \(reason); write a SHA-256 hash as 64 hexadecimal "
                + "digits, with or without colons"
        )
    }

    // MARK: Text of a chain
    /// The chain is empty.
    static let emptyChain = Self(
        .certificate,
        "the certificate chain is empty; it must be PEM text with the leaf, the intermediates and the root")

    /// The chain has more bytes than `Limits` allows.
    static func chainTooLarge(bytes: Int, limit: Int) -> Self {
        Self(.certificate, "the certificate chain is \(bytes) bytes, over the limit of \(limit) (Limits.chainBytes)")
    }

    /// The chain has more certificates than `Limits` allows.
    static func tooManyCertificates(limit: Int) -> Self {
        Self(.certificate, "the certificate chain has more than \(limit) certificates (Limits.chainCertificates)")
    }

    /// There is other text in place of a certificate, or no certificate at all.
    ///
    /// `found` quotes only PEM labels. An `x5u` may lead to any host, whose response must not appear in logs.
    static func notPEM(found: String) -> Self {
        Self(
            .certificate,
            "the certificate chain is not a list of PEM certificates: found \(found); check that the URL serves a "
                + "PEM chain")
    }

    /// A certificate has a first line but no last line. Certificates are counted from 1.
    static func truncatedPEM(certificate: Int) -> Self {
        Self(.certificate, "the certificate chain is truncated in certificate \(certificate); get the complete chain")
    }

    /// The text between the PEM labels is not base64. Certificates are counted from 1.
    static func malformedPEM(certificate: Int, reason: String) -> Self {
        Self(.certificate, "certificate \(certificate) of the chain is not base64: \(reason)")
    }

    /// The bytes are not an X.509 certificate (RFC 5280). Certificates are counted from 1.
    static func malformedCertificate(certificate: Int, reason: String) -> Self {
        Self(
            .certificate,
            "certificate \(certificate) of the chain cannot be decoded as X.509: \(VisibleText.quote(reason))")
    }

    /// There is only one certificate. A chain needs at least two, even if a root signs leaf certificates directly.
    static func incompleteChain(only: CertificateLabel) -> Self {
        Self(
            .certificate,
            "the chain has only one certificate, \(VisibleText.quote(only.subject)); it must have at least a leaf "
                + "and a root"
        )
    }

    // MARK: Order and root of a chain
    /// The chain is complete, but not in the order `expected`.
    static func reordered(expected: [CertificateLabel]) -> Self {
        Self(
            .certificate,
            "the chain's certificates are in the wrong order; the correct order, from leaf to root, is "
                + expected.map { "\($0.position)" }.joined(separator: ", "))
    }

    /// The chain would be complete without this certificate.
    static func unrelatedCertificate(_ certificate: CertificateLabel) -> Self {
        Self(.certificate, "\(certificate) is not part of the chain, which is complete without it; remove it")
    }

    /// The subject of the next certificate differs from this one's `issuer`.
    static func notIssuedByNext(_ certificate: CertificateLabel, issuer: String, next: CertificateLabel) -> Self {
        Self(
            .certificate,
            "\(certificate) was issued by \(VisibleText.quote(issuer)), but \(next) follows it; a certificate is "
                + "missing or wrong")
    }

    /// A certificate that is not in the chain issued the chain's last certificate.
    static func rootMissing(last: CertificateLabel) -> Self {
        Self(
            .certificate,
            "the chain has no root: its last certificate, \(VisibleText.quote(last.subject)), is not self-signed; "
                + "add the root"
        )
    }

    /// The chain's root is not pinned. The digests are the SHA-256 of the certificates' DER.
    package static func untrustedRoot(found: SHA256Digest, pinned: [SHA256Digest]) -> Self {
        Self(
            .certificate,
            "the chain ends at the root \(found), which is not trusted ("
                + (pinned.isEmpty ? "no root is" : "trusted: \(Counted.list(pinned))")
                + "); add it to the trusted roots (trust: roots: in dumps.yaml) only if its owner has published it")
    }

    // MARK: Certificates of a chain
    /// The certificate expired before `time`, the time of verification.
    package static func expired(
        _ certificate: CertificateLabel, notBefore: Timestamp, notAfter: Timestamp, time: Timestamp
    ) -> Self {
        Self(
            .certificate,
            "\(certificate) has expired: it was valid \(validity(notBefore, notAfter)), but the verification "
                + "time is \(time.rfc3339); fetch the collection again, or check that time")
    }

    /// The certificate becomes valid after `time`, the time of verification.
    static func notYetValid(
        _ certificate: CertificateLabel, notBefore: Timestamp, notAfter: Timestamp, time: Timestamp
    ) -> Self {
        Self(
            .certificate,
            "\(certificate) is not valid yet: it is valid \(validity(notBefore, notAfter)), but the verification time "
                + "is \(time.rfc3339); check that time")
    }

    /// None of the leaf's DNS names (`found`) is the expected one.
    static func wrongSigner(expected: SignerName, found: [String]) -> Self {
        Self(
            .certificate,
            "the leaf certificate is for the wrong name: expected \(expected), found "
                + "\(found.isEmpty ? "no DNS name" : list(found))"
        )
    }

    /// The key is not on the curve P-384.
    static func wrongKeyType(_ certificate: CertificateLabel, found: String) -> Self {
        Self(.certificate, "\(certificate) has the key \(VisibleText.quote(found)), but only P-384 keys are supported")
    }

    /// The first certificate may issue other certificates, so it must not sign content.
    static func leafIsAuthority(_ certificate: CertificateLabel) -> Self {
        Self(
            .certificate,
            "\(certificate) is a CA certificate, but the first certificate must be an end-entity certificate")
    }

    /// A certificate issued another one, but its basic constraints do not allow that (RFC 5280, section 4.2.1.9).
    static func notAnAuthority(_ certificate: CertificateLabel) -> Self {
        Self(.certificate, "\(certificate) issued the one before it, but is not a CA (basicConstraints)")
    }

    /// There are more intermediate authorities below this one than its path length allows (RFC 5280, section 4.2.1.9).
    static func pathLengthExceeded(_ certificate: CertificateLabel, limit: Int, found: Int) -> Self {
        Self(.certificate, "\(certificate) allows at most \(limit) intermediates below it; the chain has \(found)")
    }

    /// The key usage does not include `usage` (RFC 5280, section 4.2.1.3).
    static func missingKeyUsage(_ certificate: CertificateLabel, usage: String) -> Self {
        Self(.certificate, "\(certificate) lacks the key usage \(usage)")
    }

    /// There is an extended key usage, but it does not include code signing (RFC 5280, section 4.2.1.12).
    static func missingExtendedKeyUsage(_ certificate: CertificateLabel, found: [String]) -> Self {
        Self(.certificate, "\(certificate) has the extended key usage \(list(found)), but codeSigning is required")
    }

    /// A name is not among those that an authority may certify (RFC 5280, section 4.2.1.10).
    static func nameNotPermitted(
        _ certificate: CertificateLabel, name: String, by issuer: CertificateLabel, permitted: [String]
    ) -> Self {
        Self(
            .certificate,
            "\(certificate) has the name \(VisibleText.quote(name)), but \(issuer) permits only \(list(permitted))")
    }

    /// An authority excludes this name (RFC 5280, section 4.2.1.10).
    static func nameExcluded(
        _ certificate: CertificateLabel, name: String, by issuer: CertificateLabel, excluded: String
    ) -> Self {
        Self(
            .certificate,
            "\(certificate) has the name \(VisibleText.quote(name)), but \(issuer) excludes "
                + "\(VisibleText.quote(excluded))"
        )
    }

    /// The certificate `issuer` constrains names of an unsupported form. `certificate` contains such a name, or may
    /// contain one.
    static func unsupportedNameConstraint(
        _ issuer: CertificateLabel, form: String, certificate: CertificateLabel
    ) -> Self {
        Self(
            .certificate,
            "\(issuer) has a name constraint of the type \(form) that applies to \(certificate); only constraints on "
                + "DNS names are supported"
        )
    }

    /// The certificate's version is not 3, which is the only version with extensions.
    static func notVersion3(_ certificate: CertificateLabel) -> Self {
        Self(.certificate, "\(certificate) is not an X.509 version 3 certificate")
    }

    /// The certificate has an unknown critical extension, so it must be refused (RFC 5280, section 4.2).
    static func unknownCriticalExtension(_ certificate: CertificateLabel, oid: String) -> Self {
        Self(.certificate, "\(certificate) has the critical extension \(oid), which is not supported")
    }

    /// An extension's value does not have the format that RFC 5280 defines.
    static func malformedExtension(_ certificate: CertificateLabel, oid: String, reason: String) -> Self {
        Self(
            .certificate,
            "\(certificate) has the extension \(oid), which cannot be decoded: \(VisibleText.quote(reason))")
    }

    /// The certificate's signature uses SHA-1.
    static func weakSignatureAlgorithm(_ certificate: CertificateLabel, algorithm: String) -> Self {
        Self(.certificate, "\(certificate) is signed with \(algorithm), which is too weak")
    }

    /// The issuer's key did not sign this certificate.
    static func invalidCertificateSignature(_ certificate: CertificateLabel, issuer: CertificateLabel) -> Self {
        Self(.certificate, "\(certificate) was not signed with the key of \(issuer)")
    }

    // MARK: One signature
    /// The signature is not base64url (RFC 4648, section 5).
    static func malformedBase64(reason: String) -> Self {
        Self(.untrusted, "the signature is not base64url: \(reason)")
    }

    /// The signature is not 96 bytes long, which is the size of r and s on P-384.
    static func wrongSignatureLength(found: Int) -> Self {
        Self(
            .untrusted, "the signature is \(found) bytes, but a P-384 signature (r and s) is \(RawSignature.byteCount)")
    }

    /// A component of the signature is zero, or not below the order of the curve.
    static func signatureOutOfRange(_ component: SignatureComponent, _ fault: SignatureRangeFault) -> Self {
        Self(
            .untrusted,
            "the signature's \(component) "
                + (fault == .zero ? "is zero" : "is not below the order of P-384"))
    }

    /// The signer's key did not sign this content.
    static func signatureMismatch(signer: SignerName) -> Self {
        Self(
            .untrusted,
            "the signature of \(signer) does not match these records and this timestamp: the data was changed, "
                + "or the signature is for a different state; fetch the collection again")
    }

    // MARK: Signatures of a snapshot
    /// The metadata has no signature.
    package static let noSignatures = Self(
        .untrusted, "the collection is unsigned, and the configuration does not accept unsigned collections")

    /// There are signatures, but none refers to a certificate chain (`x5u` is empty).
    static let noChains = Self(
        .untrusted,
        "the signature has no certificate chain (x5u is empty), which is typical of a development server; it cannot be "
            + "verified: accept the collection as unsigned (accept-unsigned: true under trust: in dumps.yaml, "
            + "acceptsUnsigned in an app), or configure a chain on the server")

    /// None of the signatures is in the only known mode, `p384ecdsa`.
    static func onlyUnknownModes(_ modes: [String]) -> Self {
        Self(.untrusted, "all signatures have the mode \(list(modes)); only p384ecdsa is supported")
    }

    /// The caller did not supply this chain.
    static func chainMissing(x5u: String) -> Self {
        Self(.certificate, "the certificate chain \(VisibleText.quote(x5u)) is missing; fetch and verify it first")
    }

    /// The collection's timestamp is more than ``Limits/clockToleranceSeconds`` after the time of verification.
    static func newerThanVerification(_ timestamp: Timestamp, time: Timestamp) -> Self {
        Self(
            .untrusted,
            "the timestamp, \(timestamp) (\(timestamp.rfc3339)), is more than a day after the time of "
                + "verification, \(time.rfc3339); check the clock or the time you gave, or fetch the collection again")
    }

    /// The chain of a signature could not be fetched or read. Callers pass this error in place of a chain.
    package static func chainUnavailable(reason: String) -> Self {
        Self(.certificate, "the certificate chain could not be fetched: \(reason)")
    }

    /// The chain was verified for a name other than the collection's signer.
    static func signerMismatch(expected: SignerName, chain: SignerName) -> Self {
        Self(.certificate, "the certificate chain is for the wrong signer: expected \(expected), found \(chain)")
    }

    /// All signatures in a known mode failed, for the listed reasons.
    ///
    /// If at least one of them failed because of its chain, the error's code is `certificate`.
    static func noValidSignature(_ failures: [SignatureFailure]) -> Self {
        Self(
            failures.contains { $0.reason.code == .certificate } ? .certificate : .untrusted,
            "no valid signature: " + failures.map(\.description).joined(separator: "; "),
            cause: .signatures(failures))
    }

    private static func validity(_ notBefore: Timestamp, _ notAfter: Timestamp) -> String {
        "from \(notBefore.rfc3339) to \(notAfter.rfc3339)"
    }

    private static func list(_ texts: [String]) -> String {
        Counted.list(texts.lazy.map { VisibleText.quote($0) })
    }
}

/// One of the two numbers of an ECDSA signature.
package enum SignatureComponent: String, Hashable, Sendable {
    /// The first number.
    case r
    /// The second number.
    case s
}

/// The reason why r or s of an ECDSA signature is out of range.
package enum SignatureRangeFault: Hashable, Sendable {
    /// The number is zero.
    case zero
    /// The number is at least n, the order of the curve's base point.
    case notBelowOrder
}
