import ContentSignature
import Crypto
import RemoteSettingsModel
import SwiftASN1
import X509

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Signs payloads as a Remote Settings server's signer does: P-384 and SHA-384 over `Content-Signature:`, a zero byte and the
/// payload, as base64url of r and s. No I/O.
package struct ContentSigner: Sendable {
    /// The first DNS name of the signing certificate.
    package let name: SignerName
    /// The signing certificate, the intermediate one and the root, as PEM.
    package let chain: Bytes
    /// The same chain over cross-certificates, each to the end at an older root, as PEM.
    package let olderChains: [Bytes]
    private let key: PrivateKey

    /// - Parameters:
    ///   - chain: PEM, the signing certificate first, the root last.
    ///   - olderChains: the same up to older roots.
    ///   - place: where the chain comes from, for the error.
    /// - Throws: ``SigningKeyError`` where the first certificate is not the key's, or is no signing certificate. Whether the
    ///   chains are valid and trusted is not looked at.
    package init(
        key: PrivateKey, chain: Bytes, olderChains: [Bytes] = [], place: String
    ) throws(SigningKeyError) {
        let text = PEMText.normalized(chain)
        let leaf = try SigningCertificate.first(of: text, place: place)
        guard leaf.isFor(key) else {
            throw SigningKeyError(
                place, kind: .untrusted, expected: "a certificate of the signing key", found: "one of another key",
                remedy: "use the key and the chain that were made together; rsdump keys status DIR shows what DIR has")
        }
        guard let name = leaf.dnsNames.first else {
            throw SigningKeyError(
                place, kind: .untrusted, expected: "a signing certificate with a DNS name", found: "none",
                remedy: "let its issuer issue it with: rsdump keys issue")
        }
        self.name = SignerName(name)
        // Only the certificates: a chain is public, and a key that somebody put beside it is not.
        self.chain = Bytes(utf8: PEMText.blocks(text).filter { $0.contains("BEGIN CERTIFICATE-") }.joined())
        self.olderChains = olderChains
        self.key = key
    }

    /// The base64url text of the signature over a payload.
    ///
    /// - Throws: what the system's cryptography throws.
    package func signature(over payload: Bytes) throws -> String {
        var hash = SHA384()
        hash.update(data: Array("Content-Signature:\0".utf8))
        unsafe payload.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        let raw = try key.p384.signature(for: hash.finalize()).rawRepresentation
        return String(raw.base64EncodedString().map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }
}
