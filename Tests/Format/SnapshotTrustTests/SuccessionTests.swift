import Crypto
import RemoteSettingsModel
import SwiftASN1
import Testing
import X509

@testable import SnapshotTrust

/// Chains over cross-certificates, by which an older root vouches for a newer one, and what attackers make of them.
///
/// To the verifier they are chains like any other: nothing is accepted for being a succession.
struct SuccessionTests {
    /// Leaf, intermediate, the new root's key under the name of the old one's (and so on), the oldest root.
    private func succession(of steps: Int) -> TestPKI {
        var pki = TestPKI()
        let roots = (0...steps).map { TestPKI.Recipe.authority("Root \($0)") }
        pki.recipes.replaceSubrange(2..., with: roots)
        return pki
    }

    /// The position of the newest root's cross-certificate, counted from the leaf.
    private let cross = 3

    @Test(arguments: 0...5) func eachStepIsAccepted(_ steps: Int) throws {
        let made = try succession(of: steps).issue()
        #expect(try made.verified().root == made.anchors.roots[0])
    }

    @Test func moreThanTheLimitIsRefused() throws {
        let made = try succession(of: 6).issue()
        #expect(throws: ContentSignatureError.tooManyCertificates(limit: 8)) { try made.verified() }
    }

    /// Who pins only the newest root cannot use the chain to the oldest one, and the other way round.
    @Test func onlyTheEndOfAChainIsComparedWithThePins() throws {
        let pki = succession(of: 1)
        let made = try pki.issue()
        // The newest root's own certificate has the same name and key as the cross-certificate.
        var own = pki
        own.recipes.removeLast()
        let newest = try own.issue()
        let chain = try CertificateChain(pem: made.pem)
        #expect(
            throws: ContentSignatureError.untrustedRoot(
                found: try made.anchors.roots[0], pinned: try newest.anchors.roots)
        ) {
            try chain.verified(anchors: newest.anchors, signer: .remoteSettings, at: TestPKI.now)
        }
        // A pin on the cross-certificate itself makes it no root.
        let pinned = TestChain(certificates: Array(made.certificates.dropLast()), leafKey: made.leafKey)
        #expect(throws: ContentSignatureError.rootMissing(last: pinned.label(cross))) { try pinned.verified() }
        var named = pki
        named.recipes[2].name = named.recipes[3].name
        let crossed = try named.issue()
        let selfIssued = TestChain(certificates: Array(crossed.certificates.dropLast()), leafKey: crossed.leafKey)
        #expect(
            throws: ContentSignatureError.invalidCertificateSignature(
                selfIssued.label(cross), issuer: selfIssued.label(cross))
        ) { try selfIssued.verified() }
    }

    @Test func aRootThatIsNotPinnedVouchesForNobody() throws {
        let (made, other) = (try succession(of: 1).issue(), try succession(of: 1).issue())
        let chain = try CertificateChain(pem: other.pem)
        #expect(
            throws: ContentSignatureError.untrustedRoot(
                found: try other.anchors.roots[0], pinned: try made.anchors.roots)
        ) {
            try chain.verified(anchors: made.anchors, signer: .remoteSettings, at: TestPKI.now)
        }
    }

    /// The old root's certificate is public, and so is its name: only its key makes a cross-certificate.
    @Test func aForgedCrossCertificateIsRefused() throws {
        var pki = succession(of: 2)
        for position in 3...4 {
            pki = succession(of: 2)
            pki.recipes[position - 1].forger = Certificate.PrivateKey(P384.Signing.PrivateKey())
            let made = try pki.issue()
            #expect(
                throws: ContentSignatureError.invalidCertificateSignature(
                    made.label(position), issuer: made.label(position + 1))
            ) { try made.verified() }
        }
    }

    /// A cross-certificate for the same name and another key does not fit what the new root has issued.
    @Test func aCrossCertificateForAnotherRootIsRefused() throws {
        var pki = succession(of: 1)
        var made = try pki.issue()
        pki.recipes[2].key = Certificate.PrivateKey(P384.Signing.PrivateKey())
        made.certificates[2] = try pki.issue().certificates[2]
        #expect(
            throws: ContentSignatureError.invalidCertificateSignature(made.label(2), issuer: made.label(3))
        ) { try made.verified() }
        // Another name is seen before any signature.
        pki.recipes[2].name = "Another"
        made.certificates[2] = try pki.issue().certificates[2]
        guard case .notIssuedByNext? = failure(of: { try made.verified() }) else {
            Issue.record("expected notIssuedByNext")
            return
        }
    }

    @Test func anEndedStepEndsTheChain() throws {
        for position in 3...4 {
            var pki = succession(of: 2)
            pki.recipes[position - 1].notAfter = "2026-01-31"
            var made = try pki.issue()
            guard case .expired(made.label(position), _, _, _) = failure(of: { try made.verified() }) else {
                Issue.record("expected expired")
                return
            }
            pki = succession(of: 2)
            pki.recipes[position - 1].notBefore = "2026-02-02"
            made = try pki.issue()
            guard case .notYetValid(made.label(position), _, _, _) = failure(of: { try made.verified() }) else {
                Issue.record("expected notYetValid")
                return
            }
        }
    }

    @Test func onlyAnAuthorityWithTheRightPurposeIsAStep() throws {
        for position in 3...4 {
            var pki = succession(of: 2)
            pki.recipes[position - 1].basicConstraints = .notCertificateAuthority
            var made = try pki.issue()
            #expect(throws: ContentSignatureError.notAnAuthority(made.label(position))) { try made.verified() }
            pki = succession(of: 2)
            pki.recipes[position - 1].keyUsage = KeyUsage(digitalSignature: true)
            made = try pki.issue()
            #expect(throws: ContentSignatureError.missingKeyUsage(made.label(position), usage: "keyCertSign")) {
                try made.verified()
            }
            pki = succession(of: 2)
            pki.recipes[position - 1].extendedKeyUsage = [.serverAuth]
            made = try pki.issue()
            guard case .missingExtendedKeyUsage(made.label(position), _) = failure(of: { try made.verified() }) else {
                Issue.record("expected missingExtendedKeyUsage")
                return
            }
        }
    }

    /// What an old root's intermediate or signing key is good for is issuing signers, and signing.
    @Test func neitherAnIntermediateNorASignerNamesASuccessor() throws {
        // Leaf, the thief's intermediate, the thief's root signed by the old intermediate, that one, the old root.
        var pki = TestPKI()
        let old = Array(pki.recipes.suffix(2))
        pki.recipes.replaceSubrange(2..., with: [.authority("Thief")] + old)
        var made = try pki.issue()
        #expect(throws: ContentSignatureError.pathLengthExceeded(made.label(4), limit: 0, found: 2)) {
            try made.verified()
        }
        // Certificates that are issued to their issuer's name do not count (RFC 5280, section 4.2.1.9). What stays is
        // one too many.
        pki.recipes[1].name = "Thief's intermediate"
        pki.recipes[2].name = old[0].name
        made = try pki.issue()
        #expect(throws: ContentSignatureError.pathLengthExceeded(made.label(4), limit: 0, found: 1)) {
            try made.verified()
        }
        // By the signing key.
        let signer = TestPKI().leaf
        pki.recipes.insert(signer, at: 3)
        pki.recipes[2].name = "Thief"
        made = try pki.issue()
        #expect(throws: ContentSignatureError.notAnAuthority(made.label(4))) { try made.verified() }
    }

    @Test func aPathLengthBindsAllSuccessors() throws {
        var pki = succession(of: 2)
        pki.root.basicConstraints = .isCertificateAuthority(maxPathLength: 2)
        var made = try pki.issue()
        #expect(throws: ContentSignatureError.pathLengthExceeded(made.label(5), limit: 2, found: 3)) {
            try made.verified()
        }
        pki = succession(of: 2)
        pki.recipes[3].basicConstraints = .isCertificateAuthority(maxPathLength: 1)
        made = try pki.issue()
        #expect(throws: ContentSignatureError.pathLengthExceeded(made.label(4), limit: 1, found: 2)) {
            try made.verified()
        }
        pki.recipes[3].basicConstraints = .isCertificateAuthority(maxPathLength: 2)
        #expect(throws: Never.self) { try pki.issue().verified() }
    }

    @Test func nameConstraintsOfAStepBindWhatItsSuccessorsSign() throws {
        for position in 3...4 {
            var pki = succession(of: 2)
            pki.recipes[position - 1].nameConstraints = NameConstraints(excludedDNSDomains: ["mozilla.org"])
            let made = try pki.issue()
            let name = SignerName.remoteSettings.dnsName
            #expect(
                throws: ContentSignatureError.nameExcluded(
                    made.label(1), name: name, by: made.label(position), excluded: "mozilla.org")
            ) { try made.verified() }
        }
    }

    @Test(arguments: 2...4) func aStepThatIsLeftOutBreaksTheChain(_ position: Int) throws {
        var made = try succession(of: 3).issue()
        made.certificates.remove(at: position)
        guard case .notIssuedByNext? = failure(of: { try made.verified() }) else {
            Issue.record("expected notIssuedByNext")
            return
        }
    }

    @Test func anotherOrderIsNamed() throws {
        var made = try succession(of: 2).issue()
        made.certificates.swapAt(2, 3)
        guard case .reordered? = failure(of: { try made.verified() }) else {
            Issue.record("expected reordered")
            return
        }
    }

    /// Two roots that vouch for each other, without an end and with one.
    @Test func rootsThatVouchForEachOtherGainNothing() throws {
        let (a, b) = (TestPKI.Recipe.authority("A"), TestPKI.Recipe.authority("B"))
        var pki = TestPKI()
        // No certificate in a loop is a root: the last one has a key that it is not signed with.
        pki.recipes.replaceSubrange(2..., with: [b, a, b, a])
        var made = try pki.issue()
        made.certificates[5] = made.certificates[3]
        guard case .rootMissing? = failure(of: { try made.verified() }) else {
            Issue.record("expected rootMissing")
            return
        }
        // With A at its end it says no more than B's shorter chain, and is as long as any chain may be.
        #expect(throws: Never.self) { try pki.issue().verified() }
        pki.recipes.replaceSubrange(2..., with: [b, a, b, a, b, a, b])
        #expect(throws: ContentSignatureError.tooManyCertificates(limit: 8)) { try pki.issue().verified() }
    }

    /// One key with several chains: each signature keeps its own, whatever the order in which the chains are kept.
    @Test func signaturesOfOneKeyKeepTheirChains() throws {
        let pki = succession(of: 1)
        var own = pki
        own.recipes.removeLast()
        let (newest, older) = (try own.issue(), try pki.issue())
        let chains = [try newest.pem, try older.pem]
        let payload = Bytes(utf8: #"{"data":[],"last_modified":"1"}"#)
        let id = try CollectionID("main/c")
        func name(_ pem: Bytes) -> String {
            SHA256.hash(data: pem.array).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
        let verdict = SignatureVerdict(
            signer: SignerName.remoteSettings.dnsName, root: try newest.anchors.roots[0], chainNotAfter: TestPKI.now,
            verifiedAt: TestPKI.now)
        for (urls, isSwapped) in [
            (chains.map { "http://a/v1/chains/\(name($0)).pem" }, false), (["http://a/1", "http://a/2"], false),
            (chains.map { "chains/\(name($0)).pem" }, true),
        ] {
            let signatures = try urls.map { url in
                #"{"mode":"p384ecdsa","signature":"\#(try newest.signature(over: payload))","x5u":"\#(url)"}"#
            }
            let metadata = #"{"id":"c","bucket":"main","signatures":[\#(signatures.joined(separator: ","))]}"#
            let unverified = UnverifiedSnapshot(
                collection: id, payload: try Payload(parsing: payload, limits: Limits()),
                metadata: try CollectionMetadata(parsing: Bytes(utf8: metadata), limits: Limits()))
            let found = unverified.signatureChains(isSwapped ? chains.reversed() : chains, as: verdict)
            #expect(found.map(\.chain?.pem) == chains)
        }
    }
}
