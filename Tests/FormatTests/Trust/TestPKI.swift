import Crypto
import Foundation
import RemoteSettingsModel
@testable import SnapshotBundle
import SwiftASN1
import Testing
import X509

/// A temporary certificate authority. Each test changes its certificates to break exactly one rule.
///
/// By default: leaf, intermediate and root, all P-384, structured like Mozilla's, and valid at ``TestPKI/now``.
struct TestPKI {
    /// The properties of a certificate to issue.
    struct Recipe {
        var name: String
        var version = Certificate.Version.v3
        var key = Certificate.PrivateKey(P384.Signing.PrivateKey())
        var notBefore = "2026-01-01"
        var notAfter: String
        var basicConstraints: BasicConstraints?
        var keyUsage: KeyUsage?
        var extendedKeyUsage: [ExtendedKeyUsage.Usage]? = [.codeSigning]
        var nameConstraints: NameConstraints?
        var alternativeNames: [GeneralName] = []
        var others: [Certificate.Extension] = []
        /// Signs the certificate in place of the issuer, under the issuer's name.
        var forger: Certificate.PrivateKey?
    }

    static let now = time("2026-02-01")

    /// Leaf first, root last; each is issued by the next one.
    var recipes: [Recipe]

    init(signer: SignerName = .remoteSettings) {
        recipes = [
            Recipe(
                name: signer.dnsName, notAfter: "2026-03-01", keyUsage: KeyUsage(digitalSignature: true),
                alternativeNames: [.dnsName(signer.dnsName)]),
            .authority("Test intermediate", notAfter: "2028-01-01", maxPathLength: 0),
            .authority("Test root", notAfter: "2036-01-01"),
        ]
        recipes[1].nameConstraints = NameConstraints(
            permittedDNSDomains: [".content-signature.mozilla.org", "content-signature.mozilla.org"])
    }

    var leaf: Recipe {
        get { recipes[0] }
        set { recipes[0] = newValue }
    }

    var intermediate: Recipe {
        get { recipes[1] }
        set { recipes[1] = newValue }
    }

    var root: Recipe {
        get { recipes[recipes.count - 1] }
        set { recipes[recipes.count - 1] = newValue }
    }

    func issue() throws -> TestChain {
        var certificates: [Certificate] = []
        for (index, recipe) in recipes.enumerated() {
            let issuer = index + 1 < recipes.count ? recipes[index + 1] : recipe
            certificates.append(try recipe.issue(by: issuer))
        }
        return TestChain(certificates: certificates, leafKey: leaf.key)
    }

    /// Returns a valid chain with the given change.
    static func chain(_ change: (inout TestPKI) -> Void) throws -> TestChain {
        var pki = TestPKI()
        change(&pki)
        return try pki.issue()
    }

    static func time(_ text: String) -> Timestamp {
        guard let time = Timestamp(rfc3339: text) else { preconditionFailure("not a time: \(text)") }
        return time
    }
}

extension TestPKI.Recipe {
    static func authority(_ name: String, notAfter: String = "2036-01-01", maxPathLength: Int? = nil) -> Self {
        TestPKI.Recipe(
            name: name, notAfter: notAfter, basicConstraints: .isCertificateAuthority(maxPathLength: maxPathLength),
            keyUsage: KeyUsage(keyCertSign: true, cRLSign: true))
    }

    fileprivate func issue(by issuer: TestPKI.Recipe) throws -> Certificate {
        var extensions = Certificate.Extensions()
        if let basicConstraints { try extensions.append(.init(basicConstraints, critical: true)) }
        if let keyUsage { try extensions.append(.init(keyUsage, critical: true)) }
        if let extendedKeyUsage {
            try extensions.append(.init(try ExtendedKeyUsage(extendedKeyUsage), critical: true))
        }
        if let nameConstraints { try extensions.append(.init(nameConstraints, critical: true)) }
        if !alternativeNames.isEmpty {
            try extensions.append(.init(SubjectAlternativeNames(alternativeNames), critical: false))
        }
        for other in others { try extensions.append(other) }
        return try Certificate(
            version: version, serialNumber: .init(), publicKey: key.publicKey,
            notValidBefore: date(notBefore), notValidAfter: date(notAfter),
            issuer: DistinguishedName { CommonName(issuer.name) }, subject: DistinguishedName { CommonName(name) },
            extensions: extensions, issuerPrivateKey: forger ?? issuer.key)
    }

    private func date(_ text: String) -> Date {
        Date(timeIntervalSince1970: Double(TestPKI.time(text).seconds))
    }
}

/// Issued certificates and the key of the leaf.
struct TestChain {
    var certificates: [Certificate]
    let leafKey: Certificate.PrivateKey

    var pem: Bytes {
        get throws { Bytes(utf8: try certificates.map { try $0.serializeAsPEM().pemString + "\n" }.joined()) }
    }

    var anchors: TrustAnchors {
        get throws {
            var serializer = DER.Serializer()
            try serializer.serialize(certificates[certificates.count - 1])
            let digest = RemoteSettingsModel.SHA256Digest(SHA256.hash(data: serializer.serializedBytes))
            return TrustAnchors([digest].compactMap(\.self))
        }
    }

    func label(_ position: Int) -> CertificateLabel {
        let name = certificates[position - 1].subject.joined().first.flatMap { String($0.value) }
        return CertificateLabel(position: position, count: certificates.count, subject: name ?? "")
    }

    /// - Parameter pins: defaults to the chain's own root.
    func verified(
        signer: SignerName = .remoteSettings, at time: Timestamp = TestPKI.now, pins: TrustAnchors? = nil
    ) throws -> VerifiedChain {
        try CertificateChain(pem: pem).verified(anchors: pins ?? anchors, signer: signer, at: time)
    }

    /// Returns the raw r and s over the content-signature message of `payload`.
    func rawSignature(over payload: Bytes) throws -> [UInt8] {
        let message = Array("Content-Signature:\0".utf8) + payload.array
        let key = try P384.Signing.PrivateKey(pemRepresentation: leafKey.serializeAsPEM().pemString)
        return Array(try key.signature(for: message).rawRepresentation)
    }

    func signature(over payload: Bytes) throws -> String {
        base64URL(try rawSignature(over: payload))
    }
}

func base64URL(_ bytes: [UInt8], padded: Bool = false) -> String {
    let text = Data(bytes).base64EncodedString()
        .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    return padded ? text : String(text.prefix { $0 != "=" })
}

/// Returns the `Failure` that `body` throws; `nil` if it succeeds or throws a different error.
func failure(of body: () throws -> some Any) -> Failure? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? Failure
    }
}

/// Expects `body` to fail with this code and a message that contains all these parts.
func expectFailure(
    _ code: Failure.Code, _ parts: String..., sourceLocation: SourceLocation = #_sourceLocation,
    of body: () throws -> some Any
) {
    let error = failure(of: body)
    let isRight = error?.code == code && parts.allSatisfy { error?.description.contains($0) == true }
    #expect(isRight, "\(String(describing: error))", sourceLocation: sourceLocation)
}
