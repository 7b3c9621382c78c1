import Crypto
import RemoteSettingsModel
import SnapshotTrust

/// A signing certificate with its issuers, and the same chain up to each older root. None of it is secret.
package struct SignerChains: Sendable {
    package let name: SignerName
    package let chain: Bytes
    package let older: [Bytes]
    package let key: P384.Signing.PublicKey
    package let place: String

    /// Takes chains as PEM text.
    ///
    /// - Parameters:
    ///   - chain: PEM. The signing certificate is first and the root is last.
    ///   - older: the same chain up to each older root.
    ///   - place: where the chain comes from, for errors.
    /// - Throws: ``SigningKeyError`` if the first certificate is not a signing certificate. Whether the chains are
    ///   valid and trusted is not checked.
    package init(_ chain: Bytes, older: [Bytes] = [], place: String) throws(SigningKeyError) {
        let text = PEMText.normalized(chain)
        let leaf = try SigningCertificate.first(of: text, place: place)
        guard let name = leaf.dnsNames.first, let key = leaf.publicKey else {
            throw SigningKeyError(
                place, kind: .untrusted, expected: "a signing certificate with a DNS name and a P-384 key",
                found: leaf.dnsNames.isEmpty ? "one without a DNS name" : "one with another kind of key",
                remedy: "issue the certificate again with: rsdump keys issue")
        }
        self.name = SignerName(name)
        // Only certificates are kept. The chain becomes public, and somebody may have put a key into the same file.
        self.chain = Bytes(utf8: PEMText.blocks(text).filter { $0.contains("BEGIN CERTIFICATE-") }.joined())
        self.older = older
        self.key = key
        self.place = place
    }
}
