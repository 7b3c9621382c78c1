import enum Crypto.P384
import RemoteSettingsModel

/// A chain that was verified up to a pinned root, for one signer, at one time. Only this module can create one.
///
/// One chain serves all collections and signatures that name it.
package struct VerifiedChain: Sendable {
    /// The chain's PEM text, byte for byte.
    package let pem: Bytes
    /// The verified name of the leaf.
    package let signer: SignerName
    /// SHA-256 of the root certificate's DER.
    package let root: SHA256Digest
    /// When the last certificate of the chain became valid.
    package let notBefore: Timestamp
    /// When the first certificate of the chain, the signer's own, became valid.
    ///
    /// The other certificates say nothing about the key's age, because whoever has the key can append others.
    package let leafNotBefore: Timestamp
    /// When the first certificate of the chain expires.
    package let notAfter: Timestamp
    /// The time at which the chain was verified, which the caller chose.
    package let verifiedAt: Timestamp
    let key: P384.Signing.PublicKey

    /// The same chain, verified for another time. Of all checks, only the validity depends on the time.
    ///
    /// - Returns: `nil` if a certificate is not valid at `time`. ``CertificateChain/verified(anchors:signer:at:)``
    ///   names that certificate.
    func valid(at time: Timestamp) -> VerifiedChain? {
        guard notBefore <= time, time <= notAfter else { return nil }
        return VerifiedChain(
            pem: pem, signer: signer, root: root, notBefore: notBefore, leafNotBefore: leafNotBefore,
            notAfter: notAfter, verifiedAt: time, key: key)
    }

    /// Checks one signature over `payload`, which is hashed in place. Does no I/O.
    ///
    /// - Parameters:
    ///   - signature: base64url of 96 bytes, r and then s, with or without padding.
    ///   - payload: the signed bytes without the prefix of content signatures.
    /// - Throws: `malformedBase64`, `wrongSignatureLength`, `signatureOutOfRange` or `signatureMismatch` of
    ///   ``BundleError``.
    package func verify(_ signature: String, over payload: Bytes) throws(BundleError) {
        try verify(RawSignature(base64URL: signature), over: SignedMessage(payload))
    }

    func verify(_ signature: ServedSignature, over message: SignedMessage) throws(BundleError) {
        try verify(RawSignature(base64URL: signature.signature), over: message)
    }

    func verify(_ signature: RawSignature, over message: SignedMessage) throws(BundleError) {
        guard key.isValidSignature(signature.ecdsa, for: message.digest) else {
            throw .signatureMismatch(signer: signer)
        }
    }

    var verdict: SignatureVerdict {
        SignatureVerdict(signer: signer.dnsName, root: root, chainNotAfter: notAfter, verifiedAt: verifiedAt)
    }
}
