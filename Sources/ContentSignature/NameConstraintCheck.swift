import SwiftASN1
import X509

/// The name constraints of one issuer, applied to the certificates below it (RFC 5280 section 4.2.1.10).
///
/// DNS names are checked. A constraint on names of another form refuses every certificate that carries such a name, as
/// the RFC requires for forms that an implementation does not process.
struct NameConstraintCheck {
    private let issuer: CertificateLabel
    private let constraints: NameConstraints

    /// - Returns: `nil` where `issuer` carries no name constraints.
    init?(issuer: ChainCertificate) throws(ContentSignatureError) {
        let constraints = try issuer.value(of: .X509ExtensionID.nameConstraints) { try $0.nameConstraints }
        guard let constraints else { return nil }
        self.issuer = issuer.label
        self.constraints = constraints
    }

    /// - Parameter issued: the certificates below the issuer, leaf first.
    func check(_ issued: ArraySlice<ChainCertificate>) throws(ContentSignatureError) {
        for (index, certificate) in issued.enumerated() where index == 0 || !certificate.isSelfIssued {
            try refuseUnsupported(certificate)
            for name in try certificate.dnsNames() {
                try check(name, of: certificate.label)
            }
        }
    }

    private func check(_ name: String, of certificate: CertificateLabel) throws(ContentSignatureError) {
        let excluded = constraints.excludedDNSDomains.first { Self.matches(name, $0) }
        if let excluded {
            throw .nameExcluded(certificate, name: name, by: issuer, excluded: excluded)
        }
        let permitted = constraints.permittedDNSDomains
        guard permitted.isEmpty || permitted.contains(where: { Self.matches(name, $0) }) else {
            throw .nameNotPermitted(certificate, name: name, by: issuer, permitted: Array(permitted))
        }
    }

    private func refuseUnsupported(_ certificate: ChainCertificate) throws(ContentSignatureError) {
        let subject = certificate.x509.subject
        var forms = Set(try certificate.alternativeNames().map(Self.form))
        if !subject.isEmpty { forms.insert("directoryName") }
        if subject.joined().contains(where: { $0.type == .RDNAttributeType.emailAddress }) {
            forms.insert("rfc822Name")
        }
        for constraint in constraints.permittedSubtrees + constraints.excludedSubtrees {
            let form = Self.form(constraint)
            if form != "dNSName", forms.contains(form) {
                throw .unsupportedNameConstraint(issuer, form: form, certificate: certificate.label)
            }
        }
    }

    /// `example.org` permits itself and everything below it; `.example.org`, as is the custom beyond the RFC, only what
    /// is below it; the empty constraint everything.
    static func matches(_ name: String, _ constraint: String) -> Bool {
        let name = name.utf8.map(\.asciiLowercased)
        let constraint = constraint.utf8.map(\.asciiLowercased)
        let dot = UInt8(ascii: ".")
        guard let first = constraint.first else { return true }
        guard name.count >= constraint.count, name.suffix(constraint.count).elementsEqual(constraint) else {
            return false
        }
        let below = name.dropLast(constraint.count)
        return first == dot ? !below.isEmpty : below.isEmpty || below.last == dot
    }

    private static func form(_ name: GeneralName) -> String {
        switch name {
        case .otherName: "otherName"
        case .rfc822Name: "rfc822Name"
        case .dnsName: "dNSName"
        case .x400Address: "x400Address"
        case .directoryName: "directoryName"
        case .ediPartyName: "ediPartyName"
        case .uniformResourceIdentifier: "uniformResourceIdentifier"
        case .ipAddress: "iPAddress"
        case .registeredID: "registeredID"
        }
    }
}
