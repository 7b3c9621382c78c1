import enum Crypto.P384
import RemoteSettingsModel

/// A chain that was verified against a pinned root, for one signer, at one time. Only this module can create one.
///
/// It can be used for all collections and signatures that refer to the chain.
package struct VerifiedChain: Sendable {
    /// The chain's PEM text, byte for byte.
    package let pem: Bytes
    /// The verified name of the leaf certificate.
    package let signer: SignerName
    /// The SHA-256 of the root certificate's DER.
    package let root: SHA256Digest
    /// The latest start of validity among the chain's certificates.
    package let notBefore: Timestamp
    /// The start of validity of the first certificate of the chain, which is the signer's own.
    ///
    /// The other certificates do not show the age of the key, because anyone with the key can append different ones.
    package let leafNotBefore: Timestamp
    /// The earliest expiry among the chain's certificates.
    package let notAfter: Timestamp
    /// The time as of which the chain was verified, chosen by the caller.
    package let verifiedAt: Timestamp
    let key: P384.Signing.PublicKey

    /// Returns the same chain, verified as of another time. Of all checks, only the validity depends on the time.
    ///
    /// - Returns: `nil` if a certificate is not valid at `time`. The error of
    ///   ``CertificateChain/verified(anchors:signer:at:)`` describes that certificate.
    func valid(at time: Timestamp) -> VerifiedChain? {
        guard notBefore <= time, time <= notAfter else { return nil }
        return VerifiedChain(
            pem: pem, signer: signer, root: root, notBefore: notBefore, leafNotBefore: leafNotBefore,
            notAfter: notAfter, verifiedAt: time, key: key)
    }

    /// Verifies one signature over `payload`, which is hashed without copying it. Does no I/O.
    ///
    /// - Parameters:
    ///   - signature: base64url of 96 bytes, r and then s, with or without padding.
    ///   - payload: the signed bytes without the prefix of content signatures.
    /// - Throws: `malformedBase64`, `wrongSignatureLength`, `signatureOutOfRange` or `signatureMismatch` of
    ///   ``Failure``.
    package func verify(_ signature: String, over payload: Bytes) throws(Failure) {
        try verify(RawSignature(base64URL: signature), over: SignedMessage(payload))
    }

    func verify(_ signature: ServedSignature, over message: SignedMessage) throws(Failure) {
        try verify(RawSignature(base64URL: signature.signature), over: message)
    }

    func verify(_ signature: RawSignature, over message: SignedMessage) throws(Failure) {
        guard key.isValidSignature(signature.ecdsa, for: message.digest) else {
            throw .signatureMismatch(signer: signer)
        }
    }

    var verdict: SignatureVerdict {
        SignatureVerdict(signer: signer.dnsName, root: root, chainNotAfter: notAfter, verifiedAt: verifiedAt)
    }
}
