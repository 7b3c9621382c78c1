import Crypto
import Foundation
import SwiftASN1
import X509

/// A throw-away authority and the certificate that it gave to a server.
struct ServerCertificate {
    /// PEM, the authority's certificate.
    let authority: String
    /// PEM, the server's certificate and its key.
    let certificateAndKey: String

    /// - Parameter validFor: how many days from now it is valid; negative for a certificate that has expired.
    init(name: String = "localhost", validFor days: Int = 30) throws {
        let authorityKey = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let authorityName = try DistinguishedName { CommonName("Test authority \(UInt32.random(in: 0 ... .max))") }
        let day = 86_400.0
        let authority = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: authorityKey.publicKey,
            notValidBefore: Date(timeIntervalSinceNow: -90 * day), notValidAfter: Date(timeIntervalSinceNow: 90 * day),
            issuer: authorityName, subject: authorityName, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true))
                SubjectKeyIdentifier(hash: authorityKey.publicKey)
            }, issuerPrivateKey: authorityKey)
        let key = P256.Signing.PrivateKey()
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PrivateKey(key).publicKey,
            notValidBefore: Date(timeIntervalSinceNow: -60 * day),
            notValidAfter: Date(timeIntervalSinceNow: Double(days) * day), issuer: authorityName,
            subject: try DistinguishedName { CommonName(name) }, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames([.dnsName(name)])
                AuthorityKeyIdentifier(keyIdentifier: SubjectKeyIdentifier(hash: authorityKey.publicKey).keyIdentifier)
            }, issuerPrivateKey: authorityKey)
        self.authority = try authority.serializeAsPEM().pemString + "\n"
        certificateAndKey = try certificate.serializeAsPEM().pemString + "\n" + key.pemRepresentation + "\n"
    }
}
