import ContentSignature
import Crypto
import RemoteSettingsModel
import SwiftASN1
import X509

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a certificate is for.
package enum CertificateRole: String, CaseIterable, Sendable {
    /// Pinned by apps; issues intermediate certificates.
    case root
    /// Issues signing certificates.
    case intermediate
    /// Signs collections.
    case signer

    /// Checks a name for a certificate of this role: a signing certificate carries a DNS name, which clients compare; others
    /// carry up to 64 characters (RFC 5280, appendix A), all of which can be seen.
    ///
    /// - Parameter place: where the name is from, for the error.
    func check(_ name: String, place: String) throws(SigningKeyError) {
        switch self {
        case .signer:
            let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            let isDNSName =
                name.utf8.count <= 64
                && labels.allSatisfy { (1...63).contains($0.count) && $0.allSatisfy(Self.isInDNSNames) }
            guard isDNSName else {
                throw SigningKeyError(
                    place, expected: "a DNS name of at most 64 ASCII characters", found: Self.shown(name),
                    remedy: "name a host, for example config.example.org; write other letters as xn--…")
            }
        case .root, .intermediate:
            guard (1...64).contains(name.unicodeScalars.count), VisibleText.escape(name) == name else {
                throw SigningKeyError(
                    place, expected: "a name of 1 to 64 visible characters", found: Self.shown(name),
                    remedy: "give another name")
            }
        }
    }

    private static func isInDNSNames(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
        default: false
        }
    }

    private static func shown(_ name: String) -> String { "\"\(VisibleText.escape(String(name.prefix(80))))\"" }
}

/// A certificate with what this package asks of it. Nothing about it is verified.
package struct SigningCertificate: Sendable {
    let x509: Certificate

    /// The certificates of a PEM text, in its order.
    ///
    /// - Throws: ``SigningKeyError`` where there is none, or one of them cannot be read.
    package static func all(of pem: Bytes, place: String) throws(SigningKeyError) -> [SigningCertificate] {
        try all(of: PEMText.normalized(pem), place: place)
    }

    static func all(of text: String, place: String) throws(SigningKeyError) -> [SigningCertificate] {
        let blocks = PEMText.blocks(text).filter { $0.contains("BEGIN CERTIFICATE-") }
        func refused(_ found: String) -> SigningKeyError {
            SigningKeyError(
                place, expected: "certificates as PEM", found: found, remedy: "name the file that rsdump keys wrote")
        }
        guard !blocks.isEmpty else { throw refused("none") }
        guard blocks.count <= Limits().chainCertificates else { throw refused("\(blocks.count) of them") }
        do {
            return try blocks.map { SigningCertificate(x509: try Certificate(pemEncoded: $0)) }
        } catch {
            throw refused("a damaged one")
        }
    }

    static func first(of text: String, place: String) throws(SigningKeyError) -> SigningCertificate {
        // `all` never answers an empty list.
        try all(of: text, place: place)[0]
    }

    init(x509: Certificate) {
        self.x509 = x509
    }

    func isFor(_ key: PrivateKey) -> Bool {
        P384.Signing.PublicKey(x509.publicKey)?.rawRepresentation == key.p384.publicKey.rawRepresentation
    }

    /// Checks that each of these certificates was issued by the next one.
    static func checkOrder(_ certificates: [SigningCertificate], place: String) throws(SigningKeyError) {
        for (issued, issuer) in zip(certificates, certificates.dropFirst()) where !issued.isIssued(by: issuer) {
            throw SigningKeyError(
                place, kind: .untrusted, expected: "each certificate to be issued by the next one",
                found: "\(issued.name), which \(issuer.name) did not issue",
                remedy: "put the certificates together that were made together")
        }
    }

    /// The subject's common name.
    package var name: String {
        let commonName = x509.subject.lazy.joined().first { $0.type == .RDNAttributeType.commonName }
        return commonName.flatMap { String($0.value) } ?? "\(x509.subject)"
    }

    package var notBefore: Timestamp { Timestamp(x509.notValidBefore) }
    package var notAfter: Timestamp { Timestamp(x509.notValidAfter) }
    /// SHA-256 of the DER; what apps pin, if it is a root.
    package var sha256: RemoteSettingsModel.SHA256Digest? {
        (try? x509.serializeAsPEM().derBytes).flatMap { RemoteSettingsModel.SHA256Digest(SHA256.hash(data: $0)) }
    }

    var isAuthority: Bool {
        if case .isCertificateAuthority = try? x509.extensions.basicConstraints { true } else { false }
    }

    package var role: CertificateRole {
        isAuthority ? isIssued(by: self) ? .root : .intermediate : .signer
    }

    var dnsNames: [String] {
        let names = (try? x509.extensions.subjectAlternativeNames).flatMap(\.self) ?? SubjectAlternativeNames()
        return names.compactMap { if case .dnsName(let name) = $0 { name } else { nil } }
    }

    func pem() throws -> String { try x509.serializeAsPEM().pemString + "\n" }
}

extension SigningCertificate {
    /// Whether the other certificate's name and signature are those of this one's issuer.
    func isIssued(by issuer: SigningCertificate) -> Bool {
        x509.issuer == issuer.x509.subject && issuer.x509.publicKey.isValidSignature(x509.signature, for: x509)
    }
}

/// A certificate that issues others, and its key: a root or an intermediate one. No I/O, no clock.
///
/// The certificates have the profile that content signatures ask for: P-384 keys, code signing as their only purpose.
package struct CertificateAuthority: Sendable {
    /// Its own certificate, then its issuers, root last.
    package let certificates: [SigningCertificate]
    let key: PrivateKey

    package var certificate: SigningCertificate { certificates[0] }

    /// SHA-256 of the root's DER, which clients pin.
    package var root: RemoteSettingsModel.SHA256Digest? { certificates.last?.sha256 }

    /// Makes a root certificate.
    ///
    /// - Parameters:
    ///   - key: the root's key.
    ///   - days: how long it is valid, from a day before `now` on.
    package init(rootNamed name: String, key: PrivateKey, days: Int, now: Timestamp) throws {
        try CertificateRole.root.check(name, place: "the name")
        let subject = try DistinguishedName { CommonName(name) }
        let root = try Self.certificate(
            subject, .init(key.p384.publicKey), issuer: nil, key, from: now.advanced(by: .seconds(-86_400)),
            until: now.adding(days: days), Self.authorityExtensions(maxPathLength: nil))
        certificates = [root]
        self.key = key
    }

    /// - Parameter certificates: the authority's own, then its issuers.
    /// - Throws: ``SigningKeyError`` where the first one is not the key's, or cannot issue others.
    package init(key: PrivateKey, certificates: [SigningCertificate], place: String) throws(SigningKeyError) {
        guard let own = certificates.first, own.isFor(key) else {
            throw SigningKeyError(
                place, kind: .untrusted, expected: "the certificate of its key", found: "one of another key",
                remedy: "put back the key and the certificate that were made together")
        }
        guard own.isAuthority else {
            throw SigningKeyError(
                place, kind: .untrusted, expected: "a certificate that may issue others",
                found: "\(own.name), which may not",
                remedy: "use the directory that has the root's or the intermediate certificate's key")
        }
        try SigningCertificate.checkOrder(certificates, place: place)
        self.certificates = certificates
        self.key = key
    }

    /// Issues an intermediate certificate.
    ///
    /// - Parameters:
    ///   - days: how long it is valid from `now` on; no longer than this authority's own certificate.
    /// - Returns: an authority with this one's certificates behind its own.
    package func issueIntermediate(
        named name: String, key: PrivateKey, days: Int, now: Timestamp
    ) throws -> CertificateAuthority {
        let certificate = try intermediate(named: name, for: key.p384.publicKey, days: days, now: now)
        return try CertificateAuthority(key: key, certificates: [certificate] + certificates, place: name)
    }

    private func intermediate(
        named name: String, for key: P384.Signing.PublicKey, days: Int, now: Timestamp
    ) throws -> SigningCertificate {
        try CertificateRole.intermediate.check(name, place: "the name")
        return try issue(
            DistinguishedName { CommonName(name) }, .init(key), from: now.advanced(by: .seconds(-86_400)),
            until: now.adding(days: days), at: now, Self.authorityExtensions(maxPathLength: 0))
    }

    /// Issues a signing certificate and returns what signs with it.
    ///
    /// - Parameters:
    ///   - from: when its validity begins; `nil` for a day before `now`.
    ///   - days: how long it is valid, from `now` on; no longer than this authority's own certificate.
    package func issueSigner(
        _ name: SignerName = .remoteSettings, key: PrivateKey = PrivateKey(), from: Timestamp? = nil, days: Int = 70,
        now: Timestamp
    ) throws -> ContentSigner {
        let certificate = try issueSigner(name, for: key.p384.publicKey, from: from, days: days, now: now)
        return try ContentSigner(key: key, chain: Self.pem([certificate] + certificates), place: name.dnsName)
    }

    private func issueSigner(
        _ name: SignerName, for key: P384.Signing.PublicKey, from: Timestamp? = nil, days: Int, now: Timestamp
    ) throws -> SigningCertificate {
        try CertificateRole.signer.check(name.dnsName, place: "the name")
        var extensions = Certificate.Extensions()
        try extensions.append(.init(try ExtendedKeyUsage([.codeSigning]), critical: true))
        try extensions.append(.init(KeyUsage(digitalSignature: true), critical: true))
        try extensions.append(.init(SubjectAlternativeNames([.dnsName(name.dnsName)]), critical: false))
        return try issue(
            DistinguishedName { CommonName(name.dnsName) }, .init(key),
            from: from ?? now.advanced(by: .seconds(-86_400)),
            until: now.adding(days: days), at: now, extensions)
    }

    /// Issues a cross-certificate: the name, the key and the constraints of another root, under this one's signature.
    ///
    /// - Parameters:
    ///   - days: how long it is valid from `now` on; `nil` for as long as both roots are. It never is for longer.
    ///   - place: where the other root is from, for the error.
    /// - Throws: ``SigningKeyError`` if the other root is this one, is not valid at `now`, or is constrained in a way
    ///   that is not known here.
    func crossSign(
        _ root: SigningCertificate, days: Int?, place: String, now: Timestamp
    ) throws -> SigningCertificate {
        let constraints: [ASN1ObjectIdentifier] = [
            .X509ExtensionID.basicConstraints, .X509ExtensionID.keyUsage, .X509ExtensionID.extendedKeyUsage,
            .X509ExtensionID.nameConstraints,
        ]
        let unknown = root.x509.extensions.first { $0.critical && !constraints.contains($0.oid) }
        guard unknown == nil, !root.standsFor(certificate), root.notBefore <= now, now < root.notAfter else {
            throw SigningKeyError(
                place, kind: .untrusted, expected: "another root than this one, valid now, which apps understand",
                found: unknown.map { "the critical extension \($0.oid)" }
                    ?? "\(VisibleText.escape(root.name)), from \(root.notBefore.rfc3339) to \(root.notAfter.rfc3339)",
                remedy: "make the new root with: rsdump keys create")
        }
        let known = root.x509.extensions.filter { constraints.contains($0.oid) }
        return try issue(
            root.x509.subject, root.x509.publicKey, from: max(now.advanced(by: .seconds(-86_400)), root.notBefore),
            until: min(days.map { now.adding(days: $0) } ?? root.notAfter, root.notAfter), at: now,
            Certificate.Extensions(known))
    }

    /// Issues the certificate that a request asks for, as PEM: the certificate, then its issuers.
    ///
    /// - Throws: ``SigningKeyError`` where the request is not signed by its own key, or its key is not of P-384.
    package func issue(
        _ request: CertificateRequest, as role: CertificateRole, named name: String, days: Int, now: Timestamp
    ) throws -> Bytes {
        let key = try request.verifiedKey()
        let certificate =
            role == .signer
            ? try issueSigner(SignerName(name), for: key, days: days, now: now)
            : try intermediate(named: name, for: key, days: days, now: now)
        return try Self.pem([certificate] + certificates)
    }

    static func pem(_ certificates: [SigningCertificate]) throws -> Bytes {
        Bytes(utf8: try certificates.map { try $0.pem() }.joined())
    }

    private func issue(
        _ subject: DistinguishedName, _ publicKey: Certificate.PublicKey, from: Timestamp, until: Timestamp,
        at now: Timestamp, _ extensions: Certificate.Extensions
    ) throws -> SigningCertificate {
        // A clock that is wrong by years would make a certificate that no client accepts.
        for issuer in certificates where now < issuer.notBefore || now >= issuer.notAfter {
            throw SigningKeyError(
                issuer.name,
                expected:
                    "a clock between \(issuer.notBefore.rfc3339) and \(issuer.notAfter.rfc3339), when it is valid",
                found: now.rfc3339, remedy: "set this machine's clock, or let that certificate be renewed first")
        }
        return try Self.certificate(
            subject, publicKey, issuer: certificate.x509, key, from: from, until: min(until, certificate.notAfter),
            extensions)
    }

    /// - Parameter issuer: `nil` for the certificate itself.
    private static func certificate(
        _ subject: DistinguishedName, _ publicKey: Certificate.PublicKey, issuer: Certificate?, _ issuerKey: PrivateKey,
        from: Timestamp, until: Timestamp, _ extensions: Certificate.Extensions
    ) throws -> SigningCertificate {
        var extensions = extensions
        // Where two roots have one name, OpenSSL tells them apart by these (RFC 5280, sections 4.2.1.1 and 4.2.1.2).
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
    /// Dates before 1970 become 1970.
    fileprivate init(_ date: Date) {
        self.init(milliseconds: UInt64(clamping: Int64(date.timeIntervalSince1970)) * 1000)
    }

    /// Certificates have whole seconds.
    fileprivate var date: Date { Date(timeIntervalSince1970: Double(seconds)) }

    fileprivate func adding(days: Int) -> Timestamp { advanced(by: .seconds(days.saturatingDays)) }
}

extension Int {
    /// Seconds of so many days; more than a century is a century.
    fileprivate var saturatingDays: Int { Swift.max(-36_525, Swift.min(self, 36_525)) * 86_400 }
}
