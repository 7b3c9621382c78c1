import Crypto
import RemoteSettingsModel
@testable import SnapshotBundle
import Testing
import X509

/// Order, root, validity, name, key and signatures of a chain.
struct ChainVerificationTests {
    @Test func validChainIsVerified() throws {
        let made = try TestPKI().issue()
        let chain = try made.verified()
        #expect(chain.signer == .remoteSettings)
        #expect([chain.root] == (try made.anchors.roots))
        #expect(chain.notAfter == TestPKI.time("2026-03-01"))
        #expect(chain.verifiedAt == TestPKI.now)
        #expect(chain.pem == (try made.pem))
    }

    @Test func chainExpiryIsTheEarliestNotAfter() throws {
        var pki = TestPKI()
        pki.intermediate.notAfter = "2026-02-02"
        #expect(try pki.issue().verified().notAfter == TestPKI.time("2026-02-02"))
    }

    @Test func chainWithTwoOrNoIntermediates() throws {
        var pki = TestPKI()
        pki.recipes.insert(.authority("Policy authority", maxPathLength: 1), at: 2)
        #expect(throws: Never.self) { try pki.issue().verified() }
        pki.recipes.removeSubrange(1...2)
        #expect(throws: Never.self) { try pki.issue().verified() }
    }

    // MARK: Root

    @Test func unpinnedRootIsRefused() throws {
        let made = try TestPKI().issue()
        let other = try TestPKI().issue()
        let anchors = try TrustAnchors(other.anchors.roots + TrustAnchors.mozillaProduction.roots)
        let expected = Failure.untrustedRoot(found: try made.anchors.roots[0], pinned: anchors.roots)
        #expect(throws: expected) { try made.verified(pins: anchors) }
    }

    @Test func emptyPinsTrustNoRoot() throws {
        let made = try TestPKI().issue()
        let expected = Failure.untrustedRoot(found: try made.anchors.roots[0], pinned: [])
        #expect(throws: expected) { try made.verified(pins: TrustAnchors([])) }
    }

    @Test func anyPinnedRootIsTrusted() throws {
        let made = try TestPKI().issue()
        let mozilla = TrustAnchors.mozillaProduction.roots + TrustAnchors.mozillaStaging.roots
        for position in 0...2 {
            var roots = mozilla
            roots.insert(try made.anchors.roots[0], at: position)
            #expect(throws: Never.self) { try made.verified(pins: TrustAnchors(roots)) }
        }
    }

    @Test func pinnedIntermediateIsRefusedAsRoot() throws {
        var made = try TestPKI().issue()
        made.certificates.removeLast()
        #expect(throws: Failure.rootMissing(last: made.label(2))) { try made.verified() }
    }

    // MARK: Validity

    @Test(arguments: 1...3)
    func expiredCertificateIsRefused(position: Int) throws {
        let made = try TestPKI.chain { $0.recipes[position - 1].notAfter = "2026-01-31" }
        #expect(
            throws: Failure.expired(
                made.label(position), notBefore: TestPKI.time("2026-01-01"), notAfter: TestPKI.time("2026-01-31"),
                time: TestPKI.now)
        ) { try made.verified() }
    }

    @Test(arguments: 1...3)
    func notYetValidCertificateIsRefused(position: Int) throws {
        var pki = TestPKI()
        pki.recipes[position - 1].notBefore = "2026-02-02"
        let made = try pki.issue()
        let notAfter = TestPKI.time(pki.recipes[position - 1].notAfter)
        #expect(
            throws: Failure.notYetValid(
                made.label(position), notBefore: TestPKI.time("2026-02-02"), notAfter: notAfter, time: TestPKI.now)
        ) { try made.verified() }
    }

    @Test func validityBoundsAreInclusive() throws {
        let made = try TestPKI().issue()
        let first = TestPKI.time("2026-01-01")
        let last = TestPKI.time("2026-03-01")
        #expect(throws: Never.self) { try made.verified(at: first) }
        #expect(throws: Never.self) { try made.verified(at: last) }
        let before = Timestamp(milliseconds: first.milliseconds - 1)
        let after = Timestamp(milliseconds: last.milliseconds + 1)
        expectFailure(.certificate, " is not valid yet: ") { try made.verified(at: before) }
        expectFailure(.certificate, " expired: ") { try made.verified(at: after) }
    }

    // MARK: Order

    @Test(arguments: [[2, 1, 0], [0, 2, 1], [1, 0, 2], [2, 0, 1], [1, 2, 0]])
    func reorderedChainIsRefused(order: [Int]) throws {
        var made = try TestPKI().issue()
        made.certificates = order.map { made.certificates[$0] }
        let expected = (0...2).compactMap { original in order.firstIndex(of: original).map { made.label($0 + 1) } }
        // The pin is the last certificate, whichever it is, so that only the order is wrong.
        #expect(throws: Failure.reordered(expected: expected)) { try made.verified() }
    }

    @Test(arguments: 1...3)
    func unrelatedCertificateInChainIsRefused(index: Int) throws {
        var made = try TestPKI().issue()
        let anchors = try made.anchors
        var stranger = TestPKI()
        stranger.recipes.removeFirst(2)
        stranger.root.name = "Stranger"
        made.certificates.insert(try stranger.issue().certificates[0], at: index)
        #expect(throws: Failure.unrelatedCertificate(made.label(index + 1))) { try made.verified(pins: anchors) }
    }

    @Test func duplicateCertificateInChainIsRefused() throws {
        var made = try TestPKI().issue()
        made.certificates.insert(made.certificates[0], at: 0)
        #expect(throws: Failure.unrelatedCertificate(made.label(2))) { try made.verified() }
    }

    @Test func missingIntermediateIsRefused() throws {
        var made = try TestPKI().issue()
        made.certificates.remove(at: 1)
        expectFailure(.certificate, "\(made.label(1)) was issued by ", "but \(made.label(2)) follows it") {
            try made.verified()
        }
    }

    // MARK: Name and key of the leaf

    @Test func wrongSignerNameIsRefused() throws {
        let made = try TestPKI(signer: .oneCRL).issue()
        #expect(
            throws: Failure.wrongSigner(expected: .remoteSettings, found: [SignerName.oneCRL.dnsName])
        ) { try made.verified() }
        #expect(throws: Never.self) { try made.verified(signer: .oneCRL) }
    }

    @Test func commonNameIsIgnoredAsSigner() throws {
        var pki = TestPKI()
        pki.leaf.alternativeNames = []
        #expect(throws: Failure.wrongSigner(expected: .remoteSettings, found: [])) { try pki.issue().verified() }
    }

    @Test(arguments: ["*.content-signature.mozilla.org", "x.remote-settings.content-signature.mozilla.org"])
    func wildcardSignerNameIsRefused(name: String) throws {
        var pki = TestPKI()
        pki.leaf.alternativeNames = [.dnsName(name)]
        #expect(throws: Failure.wrongSigner(expected: .remoteSettings, found: [name])) { try pki.issue().verified() }
    }

    @Test func leafKeyOfOtherCurveIsRefused() throws {
        let made = try TestPKI.chain { $0.leaf.key = Certificate.PrivateKey(P256.Signing.PrivateKey()) }
        #expect(throws: Failure.wrongKeyType(made.label(1), found: "P256.PublicKey")) { try made.verified() }
    }

    // MARK: Signatures

    @Test(arguments: 1...3)
    func forgedCertificateIsRefused(position: Int) throws {
        let made = try TestPKI.chain {
            $0.recipes[position - 1].forger = Certificate.PrivateKey(P384.Signing.PrivateKey())
        }
        let issuer = made.label(min(position + 1, 3))
        #expect(throws: Failure.invalidCertificateSignature(made.label(position), issuer: issuer)) {
            try made.verified()
        }
    }

    @Test func forgedChainUnderTrustedRootIsRefused() throws {
        var made = try TestPKI().issue()
        let forged = try TestPKI().issue()
        made.certificates.replaceSubrange(0...1, with: forged.certificates[0...1])
        #expect(
            throws: Failure.invalidCertificateSignature(made.label(2), issuer: made.label(3))
        ) { try made.verified() }
    }
}
