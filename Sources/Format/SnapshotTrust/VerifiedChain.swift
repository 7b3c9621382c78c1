import enum Crypto.P384
import RemoteSettingsModel

/// A chain that was verified up to a pinned root, for one signer, at one time. Only this module can make one.
///
/// One chain serves every collection and signature that names it.
package struct VerifiedChain: Sendable {
    /// The chain's PEM text, byte for byte.
    package let pem: Bytes
    /// The name that the leaf has, as verified.
    package let signer: SignerName
    /// SHA-256 of the root certificate's DER.
    package let root: SHA256Digest
    /// When all certificates of the chain have become valid.
    package let notBefore: Timestamp
    /// When the first certificate of the chain, the signer's own, becomes valid.
    ///
    /// The other certificates say nothing about the key's age, because whoever has the key can append others.
    package let leafNotBefore: Timestamp
    /// When the first of the chain's certificates to expire does so.
    package let notAfter: Timestamp
    /// The time at which the chain was verified, chosen by the caller.
    package let verifiedAt: Timestamp
    let key: P384.Signing.PublicKey

    /// The same chain, verified at another time. Of all checks, only the validity depends on the time.
    ///
    /// - Returns: `nil` if a certificate is not valid at `time`. ``CertificateChain/verified(anchors:signer:at:)``
    ///   names it.
    package func valid(at time: Timestamp) -> VerifiedChain? {
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
    ///   ``ContentSignatureError``.
    package func verify(_ signature: String, over payload: Bytes) throws(ContentSignatureError) {
        try verify(RawSignature(base64URL: signature), over: SignedMessage(payload))
    }

    func verify(_ signature: ServedSignature, over message: SignedMessage) throws(ContentSignatureError) {
        try verify(RawSignature(base64URL: signature.signature), over: message)
    }

    func verify(_ signature: RawSignature, over message: SignedMessage) throws(ContentSignatureError) {
        guard key.isValidSignature(signature.ecdsa, for: message.digest) else {
            throw .signatureMismatch(signer: signer)
        }
    }

    var verdict: SignatureVerdict {
        SignatureVerdict(signer: signer.dnsName, root: root, chainNotAfter: notAfter, verifiedAt: verifiedAt)
    }
}
