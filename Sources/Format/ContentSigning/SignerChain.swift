import Crypto
import RemoteSettingsModel
import SnapshotBundle

/// A signing certificate with its issuers, up to the root. None of it is secret.
package struct SignerChain: Sendable {
    let name: SignerName
    /// PEM: the signing certificate, the intermediate one and the root.
    let pem: Bytes
    let key: P384.Signing.PublicKey
    let place: String

    /// Reads a chain.
    ///
    /// - Parameters:
    ///   - pem: the signing certificate is first and the root is last.
    ///   - place: where the chain comes from, for errors.
    /// - Throws: ``SigningKeyError`` if the first certificate is not a signing certificate. Whether the chain is valid
    ///   and trusted is not checked.
    package init(_ pem: Bytes, place: String) throws(SigningKeyError) {
        let text = PEMText.normalized(pem)
        let leaf = try SigningCertificate.first(of: text, place: place)
        guard let name = leaf.dnsNames.first, let key = leaf.publicKey else {
            throw SigningKeyError(
                place, code: .untrusted,
                found: leaf.dnsNames.isEmpty
                    ? "the signing certificate has no DNS name"
                    : "the key of the signing certificate is not a P-384 key",
                remedy: "issue the certificate again with: rsdump keys issue")
        }
        self.name = SignerName(name)
        // Only certificates are kept. The chain becomes public, and somebody may have put a key into the same file.
        self.pem = Bytes(utf8: PEMText.blocks(text).filter { $0.contains("BEGIN CERTIFICATE-") }.joined())
        self.key = key
        self.place = place
    }
}
