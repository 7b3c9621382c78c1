import Foundation
import RemoteSettingsModel
@testable import SnapshotBundle
import Testing
import X509

/// Parsing of a chain, before any verification.
struct CertificateChainTests {
    private func chain(_ text: String) throws -> CertificateChain {
        try CertificateChain(pem: Bytes(utf8: text))
    }

    @Test func chainKeepsTextAndRoot() throws {
        let made = try TestPKI().issue()
        let chain = try CertificateChain(pem: made.pem)
        #expect(chain.pem == (try made.pem))
        #expect([chain.root] == (try made.anchors.roots))
    }

    @Test func pemLineEndsAndCommentsAreIgnored() throws {
        let made = try TestPKI().issue()
        let text = try made.pem.text
        for variant in [
            text.replacingOccurrences(of: "\n", with: "\r\n"), text.replacingOccurrences(of: "\n", with: "\r"),
            text.replacingOccurrences(of: "\n", with: " \t\n\n"),
            "subject: the leaf\n" + text.replacingOccurrences(of: "E-----\n-----B", with: "E-----\nnext:\n-----B"),
            String(text.dropLast()), "\u{FEFF}" + text,
        ] {
            #expect(try chain(variant).root == made.anchors.roots[0])
        }
    }

    @Test(arguments: ["", "\n", " \r\n\t "])
    func emptyChainIsRefused(text: String) {
        #expect(throws: Failure.emptyChain) { try chain(text) }
    }

    @Test(arguments: ["<html>404</html>", "\u{0}\u{1}", "MIIC9jCCAnugAwIBAgIIFc3kt9BoLrYw", "----"])
    func chainWithoutPEMIsRefused(text: String) {
        #expect(throws: Failure.notPEM(found: "no certificate in \(text.utf8.count) bytes")) { try chain(text) }
    }

    /// An x5u may point to any server, so its response must not be quoted in logs.
    @Test(arguments: ["token=hunter2", "----- hunter2 -----", "-----BEGIN hunter2-----"])
    func chainErrorDoesNotQuoteContent(text: String) {
        expectFailure(.certificate, "the certificate chain is not a list of PEM certificates") { try chain(text) }
        #expect(!String(describing: failure(of: { try chain(text) })).contains("hunter2"))
    }

    @Test func binaryChainIsRefused() {
        let bytes = Bytes((0..<2000).map { (number: Int) in UInt8(truncatingIfNeeded: number &* 167) })
        expectFailure(.certificate, "the certificate chain is not a list of PEM certificates") {
            try CertificateChain(pem: bytes)
        }
    }

    @Test(arguments: ["-----BEGIN EC PRIVATE KEY-----", "-----BEGIN CERTIFICATE----", "-----END CERTIFICATE-----"])
    func otherPEMBlockIsRefused(line: String) throws {
        let text = try line + "\n" + TestPKI().issue().pem.text
        #expect(throws: Failure.notPEM(found: line)) { try chain(text) }
    }

    @Test func invalidBase64InChainIsRefused() throws {
        let begin = "-----BEGIN CERTIFICATE-----\n"
        let text = try TestPKI().issue().pem.text.replacingOccurrences(of: begin, with: begin + "!")
        expectFailure(.certificate, "certificate 1 of the chain is not base64: ") { try chain(text) }
    }

    @Test func chainEntryThatIsNoX509IsRefused() throws {
        let made = try TestPKI().issue()
        let text = try made.pem.text + "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"
        expectFailure(.certificate, "certificate 4 of the chain cannot be decoded as X.509") { try chain(text) }
    }

    @Test func singleCertificateChainIsRefused() throws {
        var made = try TestPKI().issue()
        made.certificates = [made.certificates[2]]
        #expect(throws: Failure.incompleteChain(only: made.label(1))) { try CertificateChain(pem: made.pem) }
    }

    @Test func chainSizeLimits() throws {
        let made = try TestPKI().issue()
        let text = try made.pem.text
        #expect(throws: Failure.tooManyCertificates(limit: 8)) { try chain(text + text + text) }
        let longest = String(repeating: "x", count: Limits.chainBytes - text.utf8.count - 1) + "\n" + text
        #expect(throws: Never.self) { try chain(longest) }
        #expect(throws: Failure.chainTooLarge(bytes: Limits.chainBytes + 1, limit: Limits.chainBytes)) {
            try chain("x" + longest)
        }
    }

    @Test func truncatedChainIsRefused() throws {
        let made = try TestPKI().issue()
        let anchors = try made.anchors
        let bytes = try made.pem
        // Only the final line break may be missing.
        for end in 0..<bytes.count - 1 {
            let error = failure {
                try CertificateChain(pem: bytes[0..<end])
                    .verified(anchors: anchors, signer: .remoteSettings, at: TestPKI.now)
            }
            let isCut = [
                "the certificate chain is empty", "the certificate chain is not a list of PEM certificates",
                "the certificate chain is truncated in certificate", "the chain has only one certificate",
                "the chain has no root",
            ].contains { error?.code == .certificate && error?.description.contains($0) == true }
            #expect(isCut, "truncated after \(end) bytes: \(String(describing: error))")
        }
    }
}
