import Crypto
import RemoteSettingsModel
import SwiftASN1
import X509

/// A request for a certificate (PKCS#10). The owner of the issuer's key issues the certificate, usually on another
/// machine.
package struct CertificateRequest: Sendable {
    private let request: CertificateSigningRequest
    private let place: String

    /// Creates a request for a key, and signs it with that key.
    package init(named name: String, key: PrivateKey) throws {
        request = try CertificateSigningRequest(
            version: .v1, subject: DistinguishedName { CommonName(name) }, privateKey: .init(key.p384),
            attributes: CertificateSigningRequest.Attributes())
        place = name
    }

    /// Parses PEM data that contains exactly one request. Other text around it is ignored.
    ///
    /// - Throws: ``Failure`` if there is none, or more than one.
    package init(pem: Bytes, place: String) throws(Failure) {
        let blocks = PEMText.blocks(PEMText.normalized(pem)).filter { $0.contains("CERTIFICATE REQUEST-----") }
        func refused(_ found: String) -> Failure {
            Failure(file: place, found: found, remedy: "make one with: rsdump keys request DIR --for signer")
        }
        guard blocks.count == 1 else {
            throw refused(
                blocks.isEmpty
                    ? "this is not a certificate request in PEM format"
                    : "there are \(blocks.count) certificate requests, but only one is allowed")
        }
        do {
            request = try CertificateSigningRequest(pemEncoded: blocks[0])
        } catch {
            throw refused("the certificate request is damaged")
        }
        self.place = place
    }

    package func pem() throws -> Bytes { Bytes(utf8: try request.serializeAsPEM().pemString + "\n") }

    /// The requested common name; `nil` if the request has none.
    package var name: String? {
        let commonName = request.subject.lazy.joined().first { $0.type == .RDNAttributeType.commonName }
        return commonName.flatMap { String($0.value) }
    }

    /// The SHA-256 of the public key's DER (SubjectPublicKeyInfo), which people compare to identify a request; `nil` if
    /// the key is not a P-384 key.
    package var keyDigest: RemoteSettingsModel.SHA256Digest? {
        P384.Signing.PublicKey(request.publicKey).flatMap {
            RemoteSettingsModel.SHA256Digest(SHA256.hash(data: $0.derRepresentation))
        }
    }

    /// Returns the key to certify, after checking that it signed the request.
    ///
    /// - Throws: ``Failure`` if that key did not sign the request, or if it is not a P-384 key.
    func verifiedKey() throws(Failure) -> PublicKey {
        guard let key = P384.Signing.PublicKey(request.publicKey) else {
            throw Failure(
                .untrusted, file: place, found: "the key in the request is not a P-384 key",
                remedy: "make the request with: rsdump keys request DIR")
        }
        guard request.publicKey.isValidSignature(request.signature, for: request) else {
            throw Failure(
                .untrusted, file: place, found: "the request's signature does not match its own key",
                remedy: "make the request again with: rsdump keys request DIR")
        }
        return PublicKey(p384: key)
    }
}
