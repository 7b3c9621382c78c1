import RemoteSettingsModel
import Testing

@testable import SnapshotBundle

@Suite struct KeptChainsTests {
    private let chains = ["-----A-----\nx\n", "-----B-----\n\n| y\n-----", "-----C-----"].map { Bytes(utf8: $0) }

    @Test(arguments: 1...3)
    func keptChainsAreReadAsWritten(_ count: Int) {
        let kept = KeptChains(chains[0], Array(chains[1..<count]))
        #expect(kept.chains == Array(chains[..<count]))
        #expect(KeptChains(text: kept.text).chains == kept.chains)
    }

    /// Readers of a single chain, such as older versions of this package and any PEM parser, get the first one.
    @Test func keptChainsReadAsPEMGiveTheFirst() throws {
        let (one, other) = (try TestPKI().issue(), try TestPKI().issue())
        let kept = KeptChains(try one.pem, [try other.pem])
        #expect(try kept.chains == [one.pem, other.pem] && kept.text != one.pem)
        let read = try CertificateChain(pem: kept.text)
        #expect(try read.root == CertificateChain(pem: one.pem).root && read.certificates.count == 3)
    }

    @Test func keptChainsDropAmbiguousOrExcess() {
        let long = Bytes(utf8: String(repeating: "x", count: Limits.chainBytes))
        #expect(KeptChains(chains[0], [long, chains[0]]).chains == [chains[0]])
        let hidden = Bytes(utf8: "x\r-----BEGIN CERTIFICATE-----\r")
        #expect(KeptChains(chains[0], [hidden]).chains == [chains[0]])
        let many = (0..<100).map { Bytes(utf8: "\($0)") }
        #expect(KeptChains(text: KeptChains(chains[0], many).text).chains.count == 8)
        let written = many.reduce(chains[0].text) { "\($0)\n|\n| \($1.text)" }
        #expect(KeptChains(text: Bytes(utf8: written)).chains.count == 8)
    }
}
