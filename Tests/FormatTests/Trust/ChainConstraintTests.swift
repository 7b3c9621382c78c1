import Crypto
import RemoteSettingsModel
@testable import SnapshotBundle
import SwiftASN1
import Testing
import X509

/// Constraints and extensions of the certificates in a chain.
struct ChainConstraintTests {
    @Test(arguments: [BasicConstraints.notCertificateAuthority, nil])
    func issuerMustBeCertificateAuthority(constraints: BasicConstraints?) throws {
        for position in 2...3 {
            let made = try TestPKI.chain { $0.recipes[position - 1].basicConstraints = constraints }
            #expect(throws: Failure.notAnAuthority(made.label(position))) { try made.verified() }
        }
    }

    @Test func leafMustNotBeCertificateAuthority() throws {
        var pki = TestPKI()
        pki.leaf.basicConstraints = .isCertificateAuthority(maxPathLength: nil)
        let made = try pki.issue()
        #expect(throws: Failure.leafIsAuthority(made.label(1))) { try made.verified() }
        pki.leaf.basicConstraints = .notCertificateAuthority
        #expect(throws: Never.self) { try pki.issue().verified() }
    }

    @Test func pathLengthConstraintIsEnforced() throws {
        var pki = TestPKI()
        pki.recipes.insert(.authority("Policy authority", maxPathLength: 0), at: 2)
        var made = try pki.issue()
        #expect(throws: Failure.pathLengthExceeded(made.label(3), limit: 0, found: 1)) { try made.verified() }
        pki.recipes[2] = .authority("Policy authority")
        pki.root.basicConstraints = .isCertificateAuthority(maxPathLength: 1)
        made = try pki.issue()
        #expect(throws: Failure.pathLengthExceeded(made.label(4), limit: 1, found: 2)) { try made.verified() }
    }

    // MARK: Key usage

    @Test func issuerKeyUsageMustAllowCertSign() throws {
        for position in 2...3 {
            let made = try TestPKI.chain {
                $0.recipes[position - 1].keyUsage = KeyUsage(digitalSignature: true, cRLSign: true)
            }
            #expect(throws: Failure.missingKeyUsage(made.label(position), usage: "keyCertSign")) { try made.verified() }
        }
    }

    @Test func leafKeyUsageMustAllowDigitalSignature() throws {
        let made = try TestPKI.chain { $0.leaf.keyUsage = KeyUsage(keyAgreement: true) }
        #expect(throws: Failure.missingKeyUsage(made.label(1), usage: "digitalSignature")) { try made.verified() }
    }

    @Test(arguments: 1...3)
    func extendedKeyUsageMustIncludeCodeSigning(position: Int) throws {
        var pki = TestPKI()
        pki.recipes[position - 1].extendedKeyUsage = [.serverAuth, .any]
        let made = try pki.issue()
        expectFailure(
            .certificate, "\(made.label(position)) has the extended key usage ", "serverAuth",
            "but codeSigning is required"
        ) { try made.verified() }
        pki.recipes[position - 1].extendedKeyUsage = [.serverAuth, .codeSigning]
        #expect(throws: Never.self) { try pki.issue().verified() }
    }

    @Test func absentKeyUsageIsAccepted() throws {
        var pki = TestPKI()
        for index in pki.recipes.indices {
            pki.recipes[index].keyUsage = nil
            pki.recipes[index].extendedKeyUsage = nil
        }
        #expect(throws: Never.self) { try pki.issue().verified() }
    }

    // MARK: Name constraints

    @Test(arguments: [
        (".content-signature.mozilla.org", true),
        ("content-signature.mozilla.org", true),
        ("CONTENT-signature.Mozilla.ORG", true),
        ("remote-settings.content-signature.mozilla.org", true),
        ("", true),
        (".remote-settings.content-signature.mozilla.org", false),
        ("signature.mozilla.org", false),
        ("content-signature.allizom.org", false),
        ("x.remote-settings.content-signature.mozilla.org", false),
    ])
    func permittedNameConstraintIsEnforced(constraint: String, permitted: Bool) throws {
        for position in 2...3 {
            let made = try TestPKI.chain {
                $0.recipes[position - 1].nameConstraints = NameConstraints(permittedDNSDomains: [constraint])
            }
            let expected = Failure.nameNotPermitted(
                made.label(1), name: SignerName.remoteSettings.dnsName, by: made.label(position),
                permitted: [constraint])
            #expect(failure(of: { try made.verified() }) == (permitted ? nil : expected))
        }
    }

    @Test func excludedNameConstraintIsEnforced() throws {
        var pki = TestPKI()
        pki.root.nameConstraints = NameConstraints(
            permittedDNSDomains: ["org"], excludedDNSDomains: ["example.org", "mozilla.org"])
        let made = try pki.issue()
        #expect(
            throws: Failure.nameExcluded(
                made.label(1), name: SignerName.remoteSettings.dnsName, by: made.label(3), excluded: "mozilla.org")
        ) { try made.verified() }
    }

    @Test func nameConstraintsCoverEveryNameOfTheLeaf() throws {
        let made = try TestPKI.chain { $0.leaf.alternativeNames.append(.dnsName("example.org")) }
        expectFailure(
            .certificate, "\(made.label(1)) has the name \"example.org\", but \(made.label(2)) permits only "
        ) { try made.verified() }
    }

    @Test func unsupportedNameConstraintRefusesItsNameForm() throws {
        let address = ASN1OctetString(contentBytes: [10, 0, 0, 1])
        let network = ASN1OctetString(contentBytes: [10, 0, 0, 0, 255, 0, 0, 0])
        var pki = TestPKI()
        pki.intermediate.nameConstraints = NameConstraints(permittedIPRanges: [network])
        #expect(throws: Never.self) { try pki.issue().verified() }
        pki.leaf.alternativeNames.append(.ipAddress(address))
        var made = try pki.issue()
        #expect(
            throws: Failure.unsupportedNameConstraint(made.label(2), form: "iPAddress", certificate: made.label(1))
        ) { try made.verified() }

        pki = TestPKI()
        pki.root.nameConstraints = NameConstraints(
            permittedSubtrees: [.directoryName(try DistinguishedName { OrganizationName("Mozilla") })])
        made = try pki.issue()
        #expect(
            throws: Failure.unsupportedNameConstraint(made.label(3), form: "directoryName", certificate: made.label(1))
        ) { try made.verified() }
    }

    @Test func unknownNameConstraintFormRefusesEveryName() throws {
        for constraints in [
            NameConstraints(permittedEmailAddresses: ["example.org"]),
            NameConstraints(excludedEmailAddresses: ["example.org"]),
        ] {
            let made = try TestPKI.chain { $0.intermediate.nameConstraints = constraints }
            #expect(
                throws: Failure.unsupportedNameConstraint(made.label(2), form: "rfc822Name", certificate: made.label(1))
            ) { try made.verified() }
        }
    }

    /// RFC 5280 exempts these from name constraints; swift-certificates' own verifier does not.
    @Test func nameConstraintsBindSelfIssuedAuthorities() throws {
        var pki = TestPKI()
        pki.root.nameConstraints = NameConstraints(permittedDNSDomains: ["mozilla.org"])
        pki.intermediate = .authority(pki.root.name)
        #expect(throws: Never.self) { try pki.issue().verified() }
        pki.intermediate.alternativeNames = [.dnsName("example.org")]
        let made = try pki.issue()
        #expect(
            throws: Failure.nameNotPermitted(
                made.label(2), name: "example.org", by: made.label(3), permitted: ["mozilla.org"])
        ) { try made.verified() }
    }

    @Test(arguments: ["mozilla.org.", "example.org.", "..", " org", "*.org", "-"])
    func malformedNameConstraintRefusesEveryName(constraint: String) throws {
        var pki = TestPKI()
        pki.intermediate.nameConstraints = NameConstraints(excludedDNSDomains: [constraint])
        var made = try pki.issue()
        let name = SignerName.remoteSettings.dnsName
        #expect(
            throws: Failure.nameExcluded(made.label(1), name: name, by: made.label(2), excluded: constraint)
        ) { try made.verified() }
        pki.intermediate.nameConstraints = NameConstraints(permittedDNSDomains: [constraint])
        made = try pki.issue()
        #expect(
            throws: Failure.nameNotPermitted(made.label(1), name: name, by: made.label(2), permitted: [constraint])
        ) { try made.verified() }
    }

    @Test(arguments: ["x..mozilla.org", "mozilla.org.", "*.mozilla.org", "", " mozilla.org"])
    func malformedNameIsNotPermitted(name: String) throws {
        var pki = TestPKI()
        pki.root.nameConstraints = NameConstraints(permittedDNSDomains: ["mozilla.org"])
        pki.intermediate.nameConstraints = nil
        pki.leaf.alternativeNames.append(.dnsName(name))
        #expect(throws: Failure.self) { try pki.issue().verified() }
    }

    // MARK: Other extensions

    @Test(arguments: 1...3)
    func certificateOfVersion1IsRefused(position: Int) throws {
        let made = try TestPKI.chain { $0.recipes[position - 1].version = .v1 }
        #expect(throws: Failure.notVersion3(made.label(position))) { try made.verified() }
    }

    @Test(arguments: 1...3)
    func anUnknownExtensionIsRefusedOnlyIfCritical(position: Int) throws {
        var pki = TestPKI()
        let oid: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 99999, 1]
        pki.recipes[position - 1].others = [.init(oid: oid, critical: true, value: [5, 0])]
        let made = try pki.issue()
        #expect(
            throws: Failure.unknownCriticalExtension(made.label(position), oid: "1.3.6.1.4.1.99999.1")
        ) { try made.verified() }
        pki.recipes[position - 1].others = [.init(oid: oid, critical: false, value: [5, 0])]
        #expect(throws: Never.self) { try pki.issue().verified() }
    }

    @Test func undecodableExtensionIsRefused() throws {
        var pki = TestPKI()
        pki.intermediate.nameConstraints = nil
        pki.intermediate.others = [.init(oid: .X509ExtensionID.nameConstraints, critical: false, value: [5, 0])]
        let made = try pki.issue()
        expectFailure(.certificate, "\(made.label(2)) has the extension 2.5.29.30, which cannot be decoded") {
            try made.verified()
        }
    }

    @Test func sha1CertificateSignatureIsRefused() throws {
        var made = try TestPKI().issue()
        // The same certificate with an RSA signature: the algorithm is rejected before the signature is checked.
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { certificate in
            certificate.serializeRawBytes(made.certificates[1].tbsCertificateBytes)
            try certificate.appendConstructedNode(identifier: .sequence) { algorithm in
                try algorithm.serialize([1, 2, 840, 113549, 1, 1, 5] as ASN1ObjectIdentifier)
                try algorithm.serialize(ASN1Null())
            }
            try certificate.serialize(ASN1BitString(bytes: ArraySlice(repeating: 1, count: 256)))
        }
        made.certificates[1] = try Certificate(derEncoded: serializer.serializedBytes)
        #expect(
            throws: Failure.weakSignatureAlgorithm(made.label(2), algorithm: "sha1WithRSAEncryption")
        ) { try made.verified() }
    }
}
