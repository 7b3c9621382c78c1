import enum Crypto.P384
import RemoteSettingsModel
import SwiftASN1
import X509

extension CertificateChain {
    /// Verifies that the chain may sign content. Does no I/O and reads no clock.
    ///
    /// It checks the order, the root, all validity periods, the leaf's name and key, every signature, and every
    /// constraint of a certificate (RFC 5280, sections 4.2 and 6.1, as far as they apply here).
    ///
    /// - Parameters:
    ///   - anchors: the pinned hashes, which must include that of the root.
    ///   - signer: the name that the leaf must have as a DNS subject alternative name.
    ///   - time: the time at which every certificate must be valid. The first and the last moment of a validity period
    ///     are included.
    ///   - checksRoot: whether the root must have signed itself. The pin already authenticates every byte of the root;
    ///     this detects that someone has pinned a certificate that is not a root, so it is checked before a chain is
    ///     packaged or stored, and not in each read.
    /// - Throws: ``Failure`` with the first violated rule and the certificate that violates it.
    package func verified(
        anchors: TrustAnchors, signer: SignerName, at time: Timestamp, checksRoot: Bool = true
    ) throws(Failure) -> VerifiedChain {
        try ChainOrder(certificates: certificates).check()
        guard anchors.roots.contains(root) else { throw .untrustedRoot(found: root, pinned: anchors.roots) }
        let leaf = certificates[0]
        let issuers = certificates.dropFirst()
        for certificate in certificates {
            try certificate.checkVersion()
            try certificate.checkValidity(at: time)
            try certificate.checkCriticalExtensions()
            try certificate.checkExtendedKeyUsage()
        }
        let key = try leaf.checkLeaf(signer: signer)
        for (index, issuer) in issuers.enumerated() {
            try issuer.checkIssuer(of: certificates[...index])
        }
        for (certificate, issuer) in zip(certificates, issuers) {
            try certificate.checkSignature(by: issuer)
        }
        if checksRoot, let last = certificates.last { try last.checkSignature(by: last) }

        return VerifiedChain(
            pem: pem, signer: signer, root: root,
            notBefore: certificates.reduce(leaf.notBefore) { max($0, $1.notBefore) }, leafNotBefore: leaf.notBefore,
            notAfter: certificates.reduce(leaf.notAfter) { min($0, $1.notAfter) }, verifiedAt: time, key: key)
    }
}

extension ChainCertificate {
    /// Checks the version, because RFC 5280, section 4.1.2.9, requires version 3 for extensions.
    ///
    /// Every certificate of a chain has extensions: an issuer has basic constraints, and the leaf has names.
    fileprivate func checkVersion() throws(Failure) {
        guard x509.version == .v3 else { throw .notVersion3(label) }
    }

    fileprivate func checkValidity(at time: Timestamp) throws(Failure) {
        guard time >= notBefore else { throw .notYetValid(label, notBefore: notBefore, notAfter: notAfter, time: time) }
        guard time <= notAfter else { throw .expired(label, notBefore: notBefore, notAfter: notAfter, time: time) }
    }

    /// Refuses unknown critical extensions, as required by RFC 5280, section 4.2.
    fileprivate func checkCriticalExtensions() throws(Failure) {
        let understood: [ASN1ObjectIdentifier] = [
            .X509ExtensionID.basicConstraints, .X509ExtensionID.keyUsage, .X509ExtensionID.extendedKeyUsage,
            .X509ExtensionID.nameConstraints, .X509ExtensionID.subjectAlternativeName,
        ]
        for found in x509.extensions where found.critical && !understood.contains(found.oid) {
            throw .unknownCriticalExtension(label, oid: "\(found.oid)")
        }
    }

    /// Checks that the certificate may sign code, because a content signature counts as code signing.
    ///
    /// RFC 5280, section 4.2.1.12, lets the application decide whether "any purpose" is sufficient. It is not
    /// sufficient here. As in Firefox, the purposes of an issuer also restrict the certificates below it.
    fileprivate func checkExtendedKeyUsage() throws(Failure) {
        let usages = try value(of: .X509ExtensionID.extendedKeyUsage) { try $0.extendedKeyUsage }
        guard let usages, !usages.contains(.codeSigning) else { return }
        throw .missingExtendedKeyUsage(label, found: usages.map { "\($0)" })
    }

    fileprivate func checkLeaf(signer: SignerName) throws(Failure) -> P384.Signing.PublicKey {
        let names = try dnsNames()
        guard names.contains(where: signer.matches) else { throw .wrongSigner(expected: signer, found: names) }
        if case .isCertificateAuthority = try basicConstraints() { throw .leafIsAuthority(label) }
        if let usage = try keyUsage(), !usage.digitalSignature {
            throw .missingKeyUsage(label, usage: "digitalSignature")
        }
        guard let key = P384.Signing.PublicKey(x509.publicKey) else {
            throw .wrongKeyType(label, found: "\(x509.publicKey)")
        }
        return key
    }

    /// Checks that the certificate may issue other certificates.
    ///
    /// - Parameter issued: all certificates below this one, leaf first.
    fileprivate func checkIssuer(of issued: ArraySlice<ChainCertificate>) throws(Failure) {
        guard case .isCertificateAuthority(let pathLength) = try basicConstraints() else {
            throw .notAnAuthority(label)
        }
        if let usage = try keyUsage(), !usage.keyCertSign {
            throw .missingKeyUsage(label, usage: "keyCertSign")
        }
        let intermediates = issued.dropFirst().count { !$0.isSelfIssued }
        if let pathLength, intermediates > pathLength {
            throw .pathLengthExceeded(label, limit: pathLength, found: intermediates)
        }
        try NameConstraintCheck(issuer: self)?.check(issued)
    }

    fileprivate func checkSignature(by issuer: ChainCertificate) throws(Failure) {
        guard x509.signatureAlgorithm != .sha1WithRSAEncryption else {
            throw .weakSignatureAlgorithm(label, algorithm: "sha1WithRSAEncryption")
        }
        guard issuer.x509.publicKey.isValidSignature(x509.signature, for: x509) else {
            throw .invalidCertificateSignature(label, issuer: issuer.label)
        }
    }

    private func basicConstraints() throws(Failure) -> BasicConstraints? {
        try value(of: .X509ExtensionID.basicConstraints) { try $0.basicConstraints }
    }

    private func keyUsage() throws(Failure) -> KeyUsage? {
        try value(of: .X509ExtensionID.keyUsage) { try $0.keyUsage }
    }
}
