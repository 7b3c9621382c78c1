import Crypto
import enum Crypto.P384
import RemoteSettingsModel

/// A P-384 signature in the format of the protocol: base64url of r and s, 48 bytes each, big-endian (IEEE P1363).
///
/// Both numbers are in `1..<n`. The protocol does not require low-s normalization, so a high s is also valid.
struct RawSignature: Sendable {
    let ecdsa: P384.Signing.ECDSASignature

    static let byteCount = 96

    /// The order n of the curve's base point (SP 800-186, section 3.2.1.4).
    private static let order: [UInt8] =
        [UInt8](repeating: 0xFF, count: 24) + [
            0xC7, 0x63, 0x4D, 0x81, 0xF4, 0x37, 0x2D, 0xDF, 0x58, 0x1A, 0x0D, 0xB2,
            0x48, 0xB0, 0xA7, 0x7A, 0xEC, 0xEC, 0x19, 0x6A, 0xCC, 0xC5, 0x29, 0x73,
        ]

    /// Parses a signature.
    ///
    /// - Throws: `malformedBase64`, `wrongSignatureLength` or `signatureOutOfRange` of ``Failure``.
    init(base64URL text: String) throws(Failure) {
        let bytes = try mapFailure(of: try Base64.decode(Array(text.utf8), .url)) {
            Failure.malformedBase64(reason: $0.description)
        }
        guard bytes.count == Self.byteCount else { throw .wrongSignatureLength(found: bytes.count) }
        for (component, range) in [(SignatureComponent.r, 0..<48), (.s, 48..<96)] {
            let number = bytes[range]
            guard number.contains(where: { $0 != 0 }) else { throw .signatureOutOfRange(component, .zero) }
            guard number.lexicographicallyPrecedes(Self.order) else {
                throw .signatureOutOfRange(component, .notBelowOrder)
            }
        }
        do {
            ecdsa = try P384.Signing.ECDSASignature(rawRepresentation: bytes)
        } catch {
            // The crypto library checks only the length, so this is the only possible error.
            throw .wrongSignatureLength(found: bytes.count)
        }
    }
}

/// The message that a content signature covers: `Content-Signature:`, a zero byte and the payload, hashed with SHA-384.
///
/// It is hashed only once for all signatures of a snapshot.
package struct SignedMessage: Sendable {
    let digest: SHA384Digest

    /// Hashes `payload` without copying it.
    package init(_ payload: Bytes) {
        var hash = SHA384()
        hash.update(data: Array("Content-Signature:\0".utf8))
        unsafe payload.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        digest = hash.finalize()
    }
}
