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

/// A root certificate that is made for one run, and issues the chains of signers.
package struct DemoAuthority: Sendable {
    /// SHA-256 of the root certificate's DER, which clients pin.
    package let root: RemoteSettingsModel.SHA256Digest
    private let certificate: Certificate
    private let key = P384.Signing.PrivateKey()
    private let now: Timestamp

    /// - Parameter now: the time around which the certificates are valid.
    package init(now: Timestamp) throws {
        self.now = now
        certificate = try Self.certificate(
            "rsdump demo root", key.publicKey, issuedBy: ("rsdump demo root", key), days: -1...3650, at: now,
            Self.authorityExtensions(maxPathLength: nil))
        root = RemoteSettingsModel.SHA256Digest(hashing: Bytes(try certificate.serializeAsPEM().derBytes))
    }

    /// Issues an intermediate certificate and, by it, the certificate of a signer.
    ///
    /// - Parameter days: when the signer's certificate is valid, in days from the authority's `now` on.
    package func signer(
        _ name: SignerName = .remoteSettings, days: ClosedRange<Int> = -1...70
    ) throws -> DemoSigner {
        let (intermediateKey, signerKey) = (P384.Signing.PrivateKey(), P384.Signing.PrivateKey())
        let intermediate = try Self.certificate(
            "rsdump demo intermediate", intermediateKey.publicKey, issuedBy: ("rsdump demo root", key),
            days: min(-1, days.lowerBound)...365, at: now, Self.authorityExtensions(maxPathLength: 0))
        var extensions = Certificate.Extensions()
        try extensions.append(.init(try ExtendedKeyUsage([.codeSigning]), critical: true))
        try extensions.append(.init(KeyUsage(digitalSignature: true), critical: true))
        try extensions.append(.init(SubjectAlternativeNames([.dnsName(name.dnsName)]), critical: false))
        let leaf = try Self.certificate(
            name.dnsName, signerKey.publicKey, issuedBy: ("rsdump demo intermediate", intermediateKey), days: days,
            at: now, extensions)
        let chain = try [leaf, intermediate, certificate].map { try $0.serializeAsPEM().pemString + "\n" }.joined()
        return DemoSigner(name: name, chain: Bytes(utf8: chain), key: signerKey)
    }

    private static func certificate(
        _ subject: String, _ publicKey: P384.Signing.PublicKey,
        issuedBy issuer: (name: String, key: P384.Signing.PrivateKey), days: ClosedRange<Int>, at now: Timestamp,
        _ extensions: Certificate.Extensions
    ) throws -> Certificate {
        func date(_ days: Int) -> Date { Date(timeIntervalSince1970: Double(now.seconds) + Double(days) * 86_400) }
        return try Certificate(
            version: .v3, serialNumber: .init(), publicKey: .init(publicKey), notValidBefore: date(days.lowerBound),
            notValidAfter: date(days.upperBound), issuer: DistinguishedName { CommonName(issuer.name) },
            subject: DistinguishedName { CommonName(subject) }, extensions: extensions,
            issuerPrivateKey: .init(issuer.key))
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

/// Signs as Mozilla's signer does, with a key that is made for one run and never leaves it.
package struct DemoSigner: Sendable {
    package let name: SignerName
    /// The signer's certificate, the intermediate one and the root, as PEM.
    package let chain: Bytes
    fileprivate let key: P384.Signing.PrivateKey

    /// The base64url text of the signature over a payload.
    package func signature(over payload: Bytes) throws -> String {
        let message = Array("Content-Signature:\0".utf8) + payload.array
        let raw = Array(try key.signature(for: message).rawRepresentation)
        return String(Data(raw).base64EncodedString().map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }
}
