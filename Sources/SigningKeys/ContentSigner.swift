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

/// Signs payloads as a Remote Settings server's signer does. No I/O.
///
/// A signature is made with P-384 and SHA-384 over `Content-Signature:`, a zero byte and the payload. Its text is r and
/// s in base64url.
package struct ContentSigner: Sendable {
    /// The first DNS name of the signing certificate.
    package let name: SignerName
    /// The signing certificate, the intermediate one and the root, as PEM.
    package let chain: Bytes
    /// The same chain over cross-certificates, as PEM. Each one ends at an older root.
    package let olderChains: [Bytes]
    private let key: PrivateKey

    /// - Parameters:
    ///   - chain: PEM. The signing certificate is first and the root is last.
    ///   - olderChains: the same chain up to each older root.
    ///   - place: where the chain comes from, for the error.
    /// - Throws: ``SigningKeyError`` if the first certificate is not the key's, or if it is not a signing certificate.
    ///   Whether the chains are valid and trusted is not checked.
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
        // Only certificates are kept. A chain is public, and somebody may have put a key beside it.
        self.chain = Bytes(utf8: PEMText.blocks(text).filter { $0.contains("BEGIN CERTIFICATE-") }.joined())
        self.olderChains = olderChains
        self.key = key
    }

    /// Signs a payload.
    ///
    /// - Returns: the signature in base64url.
    /// - Throws: the error of the system's cryptography.
    package func signature(over payload: Bytes) throws -> String {
        var hash = SHA384()
        hash.update(data: Array("Content-Signature:\0".utf8))
        unsafe payload.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        let raw = try key.p384.signature(for: hash.finalize()).rawRepresentation
        return String(raw.base64EncodedString().map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }
}
