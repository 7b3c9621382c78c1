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

/// Signs as Mozilla's signer does, with keys that are made for one run and never leave it.
struct DemoSigner {
    /// Where the chain is; an origin that serves it puts its own address there.
    static let x5u = "https://demo.invalid/chains/demo.pem"

    let chain: Bytes
    let verified: VerifiedChain
    /// SHA-256 of the root certificate's DER, which clients pin.
    let root: RemoteSettingsModel.SHA256Digest
    private let key: P384.Signing.PrivateKey

    /// Makes a root, an intermediate and a leaf that is good for ten weeks around `now`.
    init(now: Timestamp) throws {
        let keys = (0..<3).map { _ in P384.Signing.PrivateKey() }
        let signer = SignerName.remoteSettings
        let names = [signer.dnsName, "rsdump demo intermediate", "rsdump demo root"]
        var certificates: [Certificate] = []
        for index in 0..<3 {
            let issuer = min(index + 1, 2)
            let days = [70, 365, 3650][index]
            certificates.append(
                try Certificate(
                    version: .v3, serialNumber: .init(), publicKey: .init(keys[index].publicKey),
                    notValidBefore: Self.date(now, days: -1), notValidAfter: Self.date(now, days: days),
                    issuer: DistinguishedName { CommonName(names[issuer]) },
                    subject: DistinguishedName { CommonName(names[index]) },
                    extensions: try Self.extensions(index, signer), issuerPrivateKey: .init(keys[issuer])))
        }
        chain = Bytes(utf8: try certificates.map { try $0.serializeAsPEM().pemString + "\n" }.joined())
        let parsed = try CertificateChain(pem: chain)
        root = parsed.root
        verified = try parsed.verified(anchors: TrustAnchors([parsed.root]), signer: signer, at: now)
        key = keys[0]
    }

    private static func extensions(_ index: Int, _ signer: SignerName) throws -> Certificate.Extensions {
        var extensions = Certificate.Extensions()
        try extensions.append(.init(try ExtendedKeyUsage([.codeSigning]), critical: true))
        if index == 0 {
            try extensions.append(.init(KeyUsage(digitalSignature: true), critical: true))
            try extensions.append(
                .init(SubjectAlternativeNames([.dnsName(signer.dnsName)]), critical: false))
        } else {
            try extensions.append(
                .init(
                    BasicConstraints.isCertificateAuthority(maxPathLength: index == 1 ? 0 : nil), critical: true))
            try extensions.append(.init(KeyUsage(keyCertSign: true, cRLSign: true), critical: true))
        }
        return extensions
    }

    private static func date(_ now: Timestamp, days: Int) -> Date {
        Date(timeIntervalSince1970: Double(now.seconds) + Double(days) * 86_400)
    }

    /// base64url of the raw signature over the message of a payload.
    func signature(over payload: Bytes) throws -> String {
        let message = Array("Content-Signature:\0".utf8) + payload.array
        let raw = Array(try key.signature(for: message).rawRepresentation)
        return String(Data(raw).base64EncodedString().map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }
}
