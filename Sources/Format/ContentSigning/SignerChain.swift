import Crypto
import RemoteSettingsModel
import SnapshotBundle

/// A signing certificate with its issuers, up to the root. All of it is public.
package struct SignerChain: Sendable {
    let name: SignerName
    /// PEM with the signing certificate, the intermediate certificate and the root.
    let pem: Bytes
    let key: P384.Signing.PublicKey
    let place: String

    /// Parses a chain.
    ///
    /// - Parameters:
    ///   - pem: the certificates, with the signing certificate first and the root last.
    ///   - place: the source of the chain, for errors.
    /// - Throws: ``Failure`` if the first certificate is not a signing certificate. It does not check whether
    ///   the chain is valid and trusted.
    package init(_ pem: Bytes, place: String) throws(Failure) {
        let text = PEMText.normalized(pem)
        let leaf = try SigningCertificate.first(of: text, place: place)
        guard let name = leaf.dnsNames.first, let key = leaf.publicKey else {
            throw Failure(
                .untrusted, file: place,
                found: leaf.dnsNames.isEmpty
                    ? "the signing certificate has no DNS name"
                    : "the key of the signing certificate is not a P-384 key",
                remedy: "issue the certificate again with: rsdump keys issue")
        }
        self.name = SignerName(name)
        // Keep only the certificates: the chain becomes public, and the same file may also contain a private key.
        self.pem = Bytes(utf8: PEMText.blocks(text).filter { $0.contains("BEGIN CERTIFICATE-") }.joined())
        self.key = key
        self.place = place
    }
}
