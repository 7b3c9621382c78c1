import Crypto
import RemoteSettingsModel
import SnapshotBundle
import SwiftASN1
import X509

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The role of a certificate in a chain.
package enum CertificateRole: String, CaseIterable, Sendable {
    /// A certificate that apps pin and that issues intermediate certificates.
    case root
    /// A certificate that issues signing certificates.
    case intermediate
    /// A certificate that signs collections.
    case signer

    /// Checks a name for a certificate of this role.
    ///
    /// The name of a signing certificate is a DNS name, because clients compare it with the signer that they expect.
    /// Other names have up to 64 visible characters (RFC 5280, appendix A).
    ///
    /// - Parameter place: the source of the name, for the error.
    /// - Throws: ``Failure``.
    package func check(_ name: String, place: String) throws(Failure) {
        switch self {
        case .signer:
            let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            let isDNSName =
                name.utf8.count <= 64
                && labels.allSatisfy { (1...63).contains($0.count) && $0.allSatisfy(Self.isInDNSNames) }
            guard isDNSName else {
                throw Failure(
                    file: place, expected: "a DNS name of at most 64 ASCII characters", found: Self.shown(name),
                    remedy: "use a host name, such as config.example.org; write non-ASCII letters in their xn--… form")
            }
        case .root, .intermediate:
            guard (1...64).contains(name.unicodeScalars.count), VisibleText.escape(name) == name else {
                throw Failure(
                    file: place, expected: "a name of 1 to 64 visible characters", found: Self.shown(name),
                    remedy: "choose a different name")
            }
        }
    }

    private static func isInDNSNames(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
        default: false
        }
    }

    private static func shown(_ name: String) -> String { "\"\(VisibleText.excerpt(name, limit: 80))\"" }
}

/// A certificate with the properties that this package uses. Parsing one does not verify it.
package struct SigningCertificate: Sendable {
    package let x509: Certificate

    /// Parses the certificates in PEM data, in the same order.
    ///
    /// - Throws: ``Failure`` if there is none, or if one of them cannot be parsed.
    package static func all(of pem: Bytes, place: String) throws(Failure) -> [SigningCertificate] {
        try all(of: PEMText.normalized(pem), place: place)
    }

    static func all(of text: String, place: String) throws(Failure) -> [SigningCertificate] {
        let blocks = PEMText.blocks(text).filter { $0.contains("BEGIN CERTIFICATE-") }
        func refused(_ found: String) -> Failure {
            Failure(file: place, found: found, remedy: "give the PEM file of certificates that rsdump keys wrote")
        }
        guard !blocks.isEmpty else { throw refused("the file has no PEM certificate") }
        guard blocks.count <= Limits.chainCertificates else {
            throw refused("there are \(blocks.count) certificates, over the limit of \(Limits.chainCertificates)")
        }
        do {
            return try blocks.map { SigningCertificate(x509: try Certificate(pemEncoded: $0)) }
        } catch {
            throw refused("a certificate is damaged")
        }
    }

    static func first(of text: String, place: String) throws(Failure) -> SigningCertificate {
        // `all` never returns an empty list.
        try all(of: text, place: place)[0]
    }

    init(x509: Certificate) {
        self.x509 = x509
    }

    /// The public key; `nil` if it is not a P-384 key.
    var publicKey: P384.Signing.PublicKey? { P384.Signing.PublicKey(x509.publicKey) }

    package func isFor(_ key: PrivateKey) -> Bool {
        publicKey?.rawRepresentation == key.p384.publicKey.rawRepresentation
    }

    /// Checks that each certificate was issued by the next one.
    package static func checkOrder(_ certificates: [SigningCertificate], place: String) throws(Failure) {
        for (issued, issuer) in zip(certificates, certificates.dropFirst()) where !issued.isIssued(by: issuer) {
            throw Failure(
                .untrusted, file: place,
                found: "broken chain: \(issued.name) was not issued by \(issuer.name), the next certificate",
                remedy: "use the chain file as rsdump keys wrote it")
        }
    }

    /// The subject's common name.
    package var name: String {
        let commonName = x509.subject.lazy.joined().first { $0.type == .RDNAttributeType.commonName }
        return commonName.flatMap { String($0.value) } ?? "\(x509.subject)"
    }

    package var notBefore: Timestamp { Timestamp(x509.notValidBefore) }
    package var notAfter: Timestamp { Timestamp(x509.notValidAfter) }
    /// The SHA-256 of the DER. For a root certificate, this is the hash that apps pin.
    package var sha256: RemoteSettingsModel.SHA256Digest? {
        (try? x509.serializeAsPEM().derBytes).flatMap { RemoteSettingsModel.SHA256Digest(SHA256.hash(data: $0)) }
    }

    var isAuthority: Bool {
        if case .isCertificateAuthority = try? x509.extensions.basicConstraints { true } else { false }
    }

    package var role: CertificateRole {
        isAuthority ? isIssued(by: self) ? .root : .intermediate : .signer
    }

    package var dnsNames: [String] {
        let names = (try? x509.extensions.subjectAlternativeNames).flatMap(\.self) ?? SubjectAlternativeNames()
        return names.compactMap { if case .dnsName(let name) = $0 { name } else { nil } }
    }

    func pem() throws -> String { try x509.serializeAsPEM().pemString + "\n" }
}

extension SigningCertificate {
    /// Returns whether `issuer` issued this certificate: its name is this certificate's issuer, and its key signed this
    /// certificate.
    package func isIssued(by issuer: SigningCertificate) -> Bool {
        x509.issuer == issuer.x509.subject && issuer.x509.publicKey.isValidSignature(x509.signature, for: x509)
    }
}

/// A root or intermediate certificate with its key, which can issue other certificates. No I/O, no clock.
///
/// The certificates have the profile that content signatures require: a P-384 key, and code signing as the only
/// purpose.
package struct CertificateAuthority: Sendable {
    /// This authority's own certificate, then its issuers, with the root last.
    package let certificates: [SigningCertificate]
    package let key: PrivateKey

    package var certificate: SigningCertificate { certificates[0] }

    /// The SHA-256 of the root certificate's DER, which clients pin.
    package var root: RemoteSettingsModel.SHA256Digest? { certificates.last?.sha256 }

    /// Creates an authority with a new root certificate.
    ///
    /// - Parameters:
    ///   - key: the root's key.
    ///   - days: the number of days after `now` for which the certificate is valid. Its validity begins one day before
    ///     `now`.
    /// - Throws: ``Failure`` if a certificate cannot contain the name.
    package init(rootNamed name: String, key: PrivateKey, days: Int, now: Timestamp) throws {
        try CertificateRole.root.check(name, place: "the name")
        let subject = try DistinguishedName { CommonName(name) }
        let root = try Self.certificate(
            subject, .init(key.p384.publicKey), issuer: nil, key, from: now.advanced(by: .seconds(-86_400)),
            until: now.adding(days: days), Self.authorityExtensions(maxPathLength: nil))
        certificates = [root]
        self.key = key
    }

    /// Creates an authority from a key and its certificates.
    ///
    /// - Parameter certificates: the authority's own certificate, then its issuers.
    /// - Throws: ``Failure`` if the first certificate is not for the key, or if it may not issue others.
    package init(key: PrivateKey, certificates: [SigningCertificate], place: String) throws(Failure) {
        guard let own = certificates.first, own.isFor(key) else {
            throw Failure(
                .untrusted, file: place, found: "the certificate is for a different key",
                remedy: "restore the key and the certificate that were made together")
        }
        guard own.isAuthority else {
            throw Failure(
                .untrusted, file: place, found: "\(own.name) is not a CA, so it cannot issue certificates",
                remedy: "use the directory with the root key or the intermediate key")
        }
        try SigningCertificate.checkOrder(certificates, place: place)
        self.certificates = certificates
        self.key = key
    }

    /// Issues an intermediate certificate.
    ///
    /// - Parameters:
    ///   - days: the number of days after `now` for which the certificate is valid. It expires no later than this
    ///     authority's own certificate.
    /// - Returns: an authority with the new certificate, followed by this authority's certificates.
    package func issueIntermediate(
        named name: String, key: PrivateKey, days: Int, now: Timestamp
    ) throws -> CertificateAuthority {
        let certificate = try intermediate(named: name, for: key.publicKey, days: days, now: now)
        return try CertificateAuthority(key: key, certificates: [certificate] + certificates, place: name)
    }

    private func intermediate(
        named name: String, for key: PublicKey, days: Int, now: Timestamp
    ) throws -> SigningCertificate {
        try CertificateRole.intermediate.check(name, place: "the name")
        return try issue(
            DistinguishedName { CommonName(name) }, .init(key.p384), from: now.advanced(by: .seconds(-86_400)),
            until: now.adding(days: days), at: now, Self.authorityExtensions(maxPathLength: 0))
    }

    /// Issues a signing certificate and returns a signer that uses it.
    ///
    /// - Parameters:
    ///   - from: the start of its validity; `nil` for one day before `now`.
    ///   - days: the number of days after `now` for which it is valid. It expires no later than this authority's own
    ///     certificate.
    package func issueSigner(
        _ name: SignerName = .remoteSettings, key: PrivateKey = PrivateKey(), from: Timestamp? = nil, days: Int = 70,
        now: Timestamp
    ) throws -> ContentSigner {
        let chain = try issueSigner(name, for: key.publicKey, from: from, days: days, now: now)
        return try ContentSigner(key: key, chain: Self.pem(chain), place: name.dnsName)
    }

    /// Issues a signing certificate for a key.
    ///
    /// - Returns: the certificate, then its issuers, with the root last.
    package func issueSigner(
        _ name: SignerName, for key: PublicKey, from: Timestamp? = nil, days: Int, now: Timestamp
    ) throws -> [SigningCertificate] {
        try CertificateRole.signer.check(name.dnsName, place: "the name")
        var extensions = Certificate.Extensions()
        try extensions.append(.init(try ExtendedKeyUsage([.codeSigning]), critical: true))
        try extensions.append(.init(KeyUsage(digitalSignature: true), critical: true))
        try extensions.append(.init(SubjectAlternativeNames([.dnsName(name.dnsName)]), critical: false))
        let certificate = try issue(
            DistinguishedName { CommonName(name.dnsName) }, .init(key.p384),
            from: from ?? now.advanced(by: .seconds(-86_400)),
            until: now.adding(days: days), at: now, extensions)
        return [certificate] + certificates
    }

    /// Issues the requested certificate.
    ///
    /// - Returns: the certificate and then its issuers, as PEM.
    /// - Throws: ``Failure`` if the request is not signed by its own key, or if that key is not a P-384 key.
    package func issue(
        _ request: CertificateRequest, as role: CertificateRole, named name: String, days: Int, now: Timestamp
    ) throws -> Bytes {
        let key = try request.verifiedKey()
        return try Self.pem(
            role == .signer
                ? issueSigner(SignerName(name), for: key, days: days, now: now)
                : [intermediate(named: name, for: key, days: days, now: now)] + certificates)
    }

    package static func pem(_ certificates: [SigningCertificate]) throws -> Bytes {
        Bytes(utf8: try certificates.map { try $0.pem() }.joined())
    }

    private func issue(
        _ subject: DistinguishedName, _ publicKey: Certificate.PublicKey, from: Timestamp, until: Timestamp,
        at now: Timestamp, _ extensions: Certificate.Extensions
    ) throws -> SigningCertificate {
        // Issue nothing outside an issuer's validity: clients would refuse the chain, or this clock is wrong.
        for issuer in certificates where now < issuer.notBefore || now >= issuer.notAfter {
            throw Failure(
                file: issuer.name,
                found:
                    "the certificate is valid from \(issuer.notBefore.rfc3339) to \(issuer.notAfter.rfc3339), and "
                    + "the current "
                    + "time is \(now.rfc3339)", remedy: "correct this machine's clock, or renew that certificate first")
        }
        return try Self.certificate(
            subject, publicKey, issuer: certificate.x509, key, from: from, until: min(until, certificate.notAfter),
            extensions)
    }

    /// Builds and signs a certificate.
    ///
    /// - Parameter issuer: the issuer's certificate; `nil` for a self-signed certificate.
    private static func certificate(
        _ subject: DistinguishedName, _ publicKey: Certificate.PublicKey, issuer: Certificate?, _ issuerKey: PrivateKey,
        from: Timestamp, until: Timestamp, _ extensions: Certificate.Extensions
    ) throws -> SigningCertificate {
        var extensions = extensions
        // OpenSSL needs these extensions to distinguish two roots with the same name (RFC 5280, sections 4.2.1.1 and
        // 4.2.1.2).
        try extensions.append(.init(SubjectKeyIdentifier(hash: publicKey), critical: false))
        if let issuer {
            let own = try issuer.extensions.subjectKeyIdentifier ?? SubjectKeyIdentifier(hash: issuer.publicKey)
            try extensions.append(.init(AuthorityKeyIdentifier(keyIdentifier: own.keyIdentifier), critical: false))
        }
        return SigningCertificate(
            x509: try Certificate(
                version: .v3, serialNumber: .init(), publicKey: publicKey, notValidBefore: from.date,
                notValidAfter: until.date, issuer: issuer?.subject ?? subject, subject: subject,
                extensions: extensions, issuerPrivateKey: .init(issuerKey.p384)))
    }

    private static func authorityExtensions(maxPathLength: Int?) throws -> Certificate.Extensions {
        var extensions = Certificate.Extensions()
        try extensions.append(.init(try ExtendedKeyUsage([.codeSigning]), critical: true))
        try extensions.append(
            .init(BasicConstraints.isCertificateAuthority(maxPathLength: maxPathLength), critical: true))
        try extensions.append(.init(KeyUsage(keyCertSign: true, cRLSign: true), critical: true))
        return extensions
    }
}

extension Timestamp {
    /// The timestamp in whole seconds, which is the precision of certificates.
    fileprivate var date: Date { Date(timeIntervalSince1970: Double(seconds)) }

    fileprivate func adding(days: Int) -> Timestamp { advanced(by: .seconds(days.saturatingDays)) }
}

extension Int {
    /// This number of days as a number of seconds, limited to 100 years in either direction.
    fileprivate var saturatingDays: Int { Swift.max(-36_525, Swift.min(self, 36_525)) * 86_400 }
}
