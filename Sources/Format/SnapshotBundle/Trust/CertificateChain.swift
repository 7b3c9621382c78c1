import struct Crypto.SHA256
import RemoteSettingsModel

/// A certificate chain as it was served, not yet verified: the leaf, then its issuers, and the root last.
///
/// ``verified(anchors:signer:at:)`` turns it into a ``VerifiedChain``. Neither type does I/O or reads a clock.
package struct CertificateChain: Sendable {
    /// The chain's PEM text, byte for byte.
    let pem: Bytes
    /// The SHA-256 of the last certificate's DER, to be compared with the trust anchors.
    package let root: SHA256Digest
    /// The certificates, leaf first; at least two.
    let certificates: [ChainCertificate]

    /// Parses the PEM text (RFC 7468) and every certificate (RFC 5280) of a chain.
    ///
    /// Text between certificates is ignored. The limits are ``Limits/chainBytes`` and ``Limits/chainCertificates``.
    ///
    /// - Throws: `emptyChain`, `chainTooLarge`, `tooManyCertificates`, `notPEM`, `truncatedPEM`, `malformedPEM`,
    ///   `malformedCertificate` or `incompleteChain` of ``Failure``.
    package init(pem: Bytes) throws(Failure) {
        let der = try PEMCertificates(pem).der
        var certificates: [ChainCertificate] = []
        for (index, encoded) in der.enumerated() {
            certificates.append(try ChainCertificate(der: encoded, position: index + 1, count: der.count))
        }
        guard certificates.count > 1, let last = der.last, let root = SHA256Digest(SHA256.hash(data: last)) else {
            throw .incompleteChain(only: certificates[0].label)
        }
        self.pem = pem
        self.root = root
        self.certificates = certificates
    }
}
