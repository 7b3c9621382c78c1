import RemoteSettingsModel
import SnapshotBundle
import Testing
import X509

/// Error messages state what was expected and found, and untrusted text cannot forge them.
struct ErrorDescriptionTests {
    @Test func expiredCertificateErrorText() throws {
        let made = try TestPKI().issue()
        let error = failure { try made.verified(at: TestPKI.time("2026-04-01")) }
        #expect(
            error?.description
                == """
                certificate 1 of 3 (leaf, "remote-settings.content-signature.mozilla.org") has expired: \
                it was valid from 2026-01-01T00:00:00.000Z to 2026-03-01T00:00:00.000Z, \
                but the verification time is 2026-04-01T00:00:00.000Z; \
                fetch the collection again, or check that time
                """)
    }

    @Test func untrustedRootErrorText() throws {
        let made = try TestPKI().issue()
        let description = try #require(failure { try made.verified(pins: .mozillaProduction) }?.description)
        #expect(description.contains(try made.anchors.roots[0].hex))
        #expect(description.contains(TrustAnchors.mozillaProduction.roots[0].hex))
    }

    @Test func reorderedChainErrorText() throws {
        var made = try TestPKI().issue()
        made.certificates.swapAt(0, 2)
        let description = failure { try made.verified() }?.description
        #expect(description?.hasSuffix("the correct order, from leaf to root, is 3, 2, 1") == true)
    }

    @Test func certificateErrorEscapesForeignText() throws {
        var pki = TestPKI()
        pki.leaf.name = "a\n\u{1B}[31mok\"" + String(repeating: "x", count: 10_000)
        pki.leaf.notAfter = "2026-01-02"
        let description = try #require(failure { try pki.issue().verified() }?.description)
        #expect(description.utf8.count < 600)
        #expect(description.utf8.allSatisfy { $0 >= 0x20 })
        #expect(description.contains(#"(leaf, "a\n\u{1B}[31mok\"xxx"#))

        let garbage = Bytes([0, 10, 27, 255] + [UInt8](repeating: 7, count: 5000))
        let shown = try #require(failure { try CertificateChain(pem: garbage) }?.description)
        #expect(shown.utf8.count < 600 && shown.utf8.allSatisfy { $0 >= 0x20 })
    }
}
