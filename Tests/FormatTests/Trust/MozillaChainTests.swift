import Foundation
import RemoteSettingsModel
@testable import SnapshotBundle
import Testing

/// Chains issued by Mozilla, with RSA authorities and old OpenSSL extensions, and a signature made under one of them.
///
/// `Tests/fetch-autograph-chains` fetches them; without them these tests fail.
@Suite(.external) struct MozillaChainTests {
    static let signer = SignerName("normandy.content-signature.mozilla.org")
    /// All certificates of both chains were valid at this time.
    static let time = TestPKI.time("2019-10-23")
    static let roots = [
        "stage": "DB:74:CE:58:E4:F9:D0:9E:E0:42:36:BE:6C:C5:C4:F6:6A:E7:74:7D:C0:21:42:7A:03:BC:2F:57:0C:8B:9B:90",
        "dev": "4C:35:B1:C3:E3:12:D9:55:E7:78:ED:D0:A7:E7:8A:38:83:04:EF:01:BF:FA:03:29:B2:46:9F:3C:C5:EC:36:04",
    ]

    private static let directory = Result<URL, any Error> {
        let printed = try output(of: "Tests/fetch-autograph-chains")
        return URL(filePath: String(decoding: printed, as: UTF8.self).trimmingCharacters(in: .newlines))
    }

    private func file(_ name: String) throws -> Bytes {
        Bytes(Array(try Data(contentsOf: Self.directory.get().appending(path: name))))
    }

    private func verified(_ name: String, at time: Timestamp = time) throws -> VerifiedChain {
        let anchors = try TrustAnchors(hashes: [#require(Self.roots[name])])
        return try CertificateChain(pem: file(name + ".chain"))
            .verified(anchors: anchors, signer: Self.signer, at: time)
    }

    @Test(arguments: [("stage", "2019-12-04T18:15:23Z"), ("dev", "2021-07-05T21:49:26Z")])
    func mozillaChainIsVerified(name: String, end: String) throws {
        let chain = try verified(name)
        #expect(chain.signer == Self.signer)
        #expect(chain.notAfter == TestPKI.time(end))
        #expect(throws: Never.self) { try verified(name, at: chain.notAfter) }
    }

    @Test(arguments: [
        ("stage", "2019-09-15T18:15:22Z", 1, " is not valid yet: "),
        ("dev", "2016-07-06T21:57:14Z", 1, " is not valid yet: "),
        ("dev", "2016-07-06T21:49:25Z", 1, " is not valid yet: "), ("stage", "2019-12-04T18:15:24Z", 1, " expired: "),
        ("stage", "2026-01-01", 1, " expired: "), ("dev", "2021-07-05T21:49:27Z", 2, " expired: "),
    ])
    func mozillaChainOutsideItsValidityIsRefused(name: String, time: String, position: Int, reason: String) {
        expectFailure(.certificate, "certificate \(position) ", reason) { try verified(name, at: TestPKI.time(time)) }
    }

    @Test(arguments: ["stage", "dev"])
    func mozillaChainOfOtherRootOrNameIsRefused(name: String) throws {
        let chain = try CertificateChain(pem: file(name + ".chain"))
        let anchors = TrustAnchors([chain.root])
        #expect(
            throws: Failure.untrustedRoot(found: chain.root, pinned: TrustAnchors.mozillaProduction.roots)
        ) { try chain.verified(anchors: .mozillaProduction, signer: Self.signer, at: Self.time) }
        #expect(
            throws: Failure.wrongSigner(expected: .remoteSettings, found: [Self.signer.dnsName])
        ) { try chain.verified(anchors: anchors, signer: .remoteSettings, at: Self.time) }
    }

    @Test func autographSignatureIsVerified() throws {
        let chain = try verified("dev")
        let payload = try file("payload")
        let signature = try file("signature").text
        #expect(payload.count == 257)
        #expect(throws: Never.self) { try chain.verify(signature, over: payload) }
        #expect(throws: Failure.signatureMismatch(signer: Self.signer)) {
            try chain.verify(signature, over: payload[0..<256])
        }
        #expect(throws: Failure.signatureMismatch(signer: Self.signer)) {
            try verified("stage").verify(signature, over: payload)
        }
    }
}
