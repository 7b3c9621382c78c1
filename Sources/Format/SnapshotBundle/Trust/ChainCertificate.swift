#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import RemoteSettingsModel
import SwiftASN1
import X509

/// One parsed certificate of a chain, with its position. It is not verified.
struct ChainCertificate: Sendable {
    let label: CertificateLabel
    let x509: Certificate
    let notBefore: Timestamp
    let notAfter: Timestamp

    /// Parses a certificate.
    ///
    /// - Parameter position: the position in the chain, starting with 1 for the leaf.
    init(der: [UInt8], position: Int, count: Int) throws(Failure) {
        x509 = try Result { try Certificate(derEncoded: der) }
            .mapError { Failure.malformedCertificate(certificate: position, reason: "\($0)") }.get()
        let commonName = x509.subject.lazy.joined().first { $0.type == .RDNAttributeType.commonName }
        let subject = commonName.flatMap { String($0.value) } ?? "\(x509.subject)"
        label = CertificateLabel(position: position, count: count, subject: subject)
        notBefore = Timestamp(x509.notValidBefore)
        notAfter = Timestamp(x509.notValidAfter)
    }

    /// Whether subject and issuer have the same name (RFC 5280 section 3.2).
    var isSelfIssued: Bool { x509.subject == x509.issuer }

    /// Returns an extension's decoded value; `nil` if the certificate does not have the extension.
    func value<Value>(
        of oid: ASN1ObjectIdentifier, _ read: (Certificate.Extensions) throws -> Value?
    ) throws(Failure) -> Value? {
        try Result { try read(x509.extensions) }
            .mapError { Failure.malformedExtension(label, oid: "\(oid)", reason: "\($0)") }.get()
    }

    /// Returns all alternative names of the subject; empty if there are none.
    func alternativeNames() throws(Failure) -> [GeneralName] {
        Array(try value(of: .X509ExtensionID.subjectAlternativeName, { try $0.subjectAlternativeNames }) ?? .init())
    }

    /// Returns the DNS names among the alternative names of the subject.
    func dnsNames() throws(Failure) -> [String] {
        try alternativeNames().compactMap { name in
            if case .dnsName(let dnsName) = name { dnsName } else { nil }
        }
    }
}

extension Timestamp {
    /// Converts the date of a certificate. Dates before 1970 become 1970.
    package init(_ date: Date) {
        self.init(milliseconds: UInt64(clamping: Int64(date.timeIntervalSince1970)) * 1000)
    }
}
