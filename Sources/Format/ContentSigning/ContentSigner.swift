import Crypto
import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Signs payloads with the key of a signing certificate, like the signer of a Remote Settings server.
///
/// The signed message is `Content-Signature:`, a zero byte and the payload. The algorithm is ECDSA with P-384 and
/// SHA-384, and the signature is the values r and s in base64url.
package protocol PayloadSigner: Sendable {
    var certificates: SignerChain { get }

    /// Signs a payload.
    ///
    /// - Returns: the signature in base64url.
    func signature(over payload: Bytes) async throws -> String
}

extension PayloadSigner {
    /// The first DNS name of the signing certificate.
    package var name: SignerName { certificates.name }
    /// The signing certificate, the intermediate certificate and the root, as PEM.
    package var chain: Bytes { certificates.pem }
}

/// Signs payloads with a key in memory. No I/O.
package struct ContentSigner: PayloadSigner {
    package let certificates: SignerChain
    private let key: PrivateKey

    /// Creates a signer from a key and its certificates.
    ///
    /// - Throws: ``Failure`` if the signing certificate is not for the key.
    package init(key: PrivateKey, certificates: SignerChain) throws(Failure) {
        guard certificates.key.rawRepresentation == key.publicKey.p384.rawRepresentation else {
            throw Failure(
                .untrusted, file: certificates.place, found: "the certificate is not for the signing key",
                remedy: "use the key and the chain that were made together; rsdump keys status DIR lists those in DIR")
        }
        self.certificates = certificates
        self.key = key
    }

    /// Creates a signer from a key and its chain.
    ///
    /// - Parameters:
    ///   - chain: PEM with the signing certificate first and the root last.
    ///   - place: the source of the chain, for the error.
    /// - Throws: ``Failure`` if the first certificate is not for the key, or if it is not a signing
    ///   certificate. It does not check whether the chain is valid and trusted.
    package init(key: PrivateKey, chain: Bytes, place: String) throws(Failure) {
        try self.init(key: key, certificates: SignerChain(chain, place: place))
    }

    /// Signs a payload.
    ///
    /// - Returns: the signature in base64url.
    /// - Throws: the error of the system's cryptography.
    package func signature(over payload: Bytes) throws -> String {
        var hash = SHA384()
        hash.update(data: contentSignaturePrefix)
        unsafe payload.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        return try key.p384.signature(for: hash.finalize()).base64URL
    }
}

/// Signs payloads with a key that never enters this process.
package struct ExternalSigner: PayloadSigner {
    /// Signs a message with ECDSA, P-384 and SHA-384.
    ///
    /// Returns the signature as r and s, 48 bytes each (IEEE P1363, the format of PKCS#11), or as DER (RFC 3279, the
    /// format of OpenSSL).
    package typealias Sign = @Sendable (_ message: Bytes) async throws -> Bytes

    package let certificates: SignerChain
    private let sign: Sign

    package init(certificates: SignerChain, _ sign: @escaping Sign) {
        self.certificates = certificates
        self.sign = sign
    }

    /// Signs a payload and checks the result.
    ///
    /// - Throws: the error of `Sign`, or ``Failure`` if the result is not a signature by the key of the signing
    ///   certificate.
    package func signature(over payload: Bytes) async throws -> String {
        let message = contentSignaturePrefix + payload.array
        let made = try await sign(Bytes(message)).array
        let digest = SHA384.hash(data: message)
        let readings = [
            try? P384.Signing.ECDSASignature(rawRepresentation: made),
            try? P384.Signing.ECDSASignature(derRepresentation: made),
        ].compactMap(\.self)
        guard let valid = readings.first(where: { certificates.key.isValidSignature($0, for: digest) }) else {
            throw Failure(
                .untrusted, file: certificates.place,
                found: readings.isEmpty
                    ? "the signer returned \(Counted.text(made.count, "byte")), which are neither a DER signature nor "
                        + "the 96 bytes of r and s"
                    : "the signature does not match the key of the first certificate and the SHA-384 of the message",
                remedy:
                    "check the key and the hash that the signer uses, or issue a certificate for its key with: rsdump "
                    + "keys renew DIR --signer-public-key FILE")
        }
        return valid.base64URL
    }
}

private let contentSignaturePrefix = Array("Content-Signature:\0".utf8)

extension P384.Signing.ECDSASignature {
    /// The text form of a content signature.
    fileprivate var base64URL: String {
        String(rawRepresentation.base64EncodedString().map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }
}
