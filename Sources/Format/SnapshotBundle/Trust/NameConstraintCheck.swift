import RemoteSettingsModel
import SwiftASN1
import X509

/// Applies the name constraints of one issuer to the certificates below it (RFC 5280, section 4.2.1.10).
///
/// DNS names are checked. If there is a constraint on names of a different form, every certificate with such a name is
/// refused, as the RFC requires for unsupported forms. Like the verifier of swift-certificates, this is stricter than
/// the RFC: self-issued certificates are checked too, and constraints on some forms refuse every certificate.
struct NameConstraintCheck {
    private let issuer: CertificateLabel
    private let constraints: NameConstraints

    /// Reads the constraints of an issuer.
    ///
    /// - Returns: `nil` if `issuer` has none.
    init?(issuer: ChainCertificate) throws(Failure) {
        let constraints = try issuer.value(of: .X509ExtensionID.nameConstraints) { try $0.nameConstraints }
        guard let constraints else { return nil }
        self.issuer = issuer.label
        self.constraints = constraints
    }

    /// Checks the certificates below the issuer.
    ///
    /// - Parameter issued: these certificates, leaf first.
    func check(_ issued: ArraySlice<ChainCertificate>) throws(Failure) {
        for certificate in issued {
            try refuseUnsupported(certificate)
            for name in try certificate.dnsNames() {
                try check(name, of: certificate.label)
            }
        }
    }

    private func check(_ name: String, of certificate: CertificateLabel) throws(Failure) {
        // An invalid name or constraint cannot be compared, so it counts as excluded and as not permitted.
        let excluded = constraints.excludedDNSDomains.first {
            !Self.isName(name[...]) || !Self.isConstraint($0) || Self.matches(name, $0)
        }
        if let excluded {
            throw .nameExcluded(certificate, name: name, by: issuer, excluded: excluded)
        }
        let permitted = constraints.permittedDNSDomains
        guard
            permitted.isEmpty
                || Self.isName(name[...])
                    && permitted.contains(where: { Self.isConstraint($0) && Self.matches(name, $0) })
        else { throw .nameNotPermitted(certificate, name: name, by: issuer, permitted: Array(permitted)) }
    }

    private func refuseUnsupported(_ certificate: ChainCertificate) throws(Failure) {
        let subject = certificate.x509.subject
        var forms = Set(try certificate.alternativeNames().map(Self.form))
        if !subject.isEmpty { forms.insert("directoryName") }
        if subject.joined().contains(where: { $0.type == .RDNAttributeType.emailAddress }) {
            forms.insert("rfc822Name")
        }
        for constraint in constraints.permittedSubtrees + constraints.excludedSubtrees {
            let form = Self.form(constraint)
            if form != "dNSName", forms.contains(form) || Self.alwaysRefused.contains(form) {
                throw .unsupportedNameConstraint(issuer, form: form, certificate: certificate.label)
            }
        }
    }

    /// Returns whether a constraint covers a name.
    ///
    /// `example.org` covers itself and all subdomains. `.example.org` covers only the subdomains, which is common
    /// practice but not in the RFC. The empty constraint covers every name.
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

    /// The forms of names for which a constraint refuses every certificate below the issuer, regardless of its names.
    private static let alwaysRefused: Set = ["otherName", "rfc822Name", "x400Address", "ediPartyName", "registeredID"]

    /// Returns whether a text is a DNS name without a trailing dot (RFC 1123, section 2.1, but `_` is allowed).
    private static func isName(_ text: Substring) -> Bool {
        text.utf8.count <= 253
            && text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
                (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
                    && label.allSatisfy { byte in
                        byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte)
                            || (0x61...0x7A).contains(byte.asciiLowercased)
                    }
            }
    }

    private static func isConstraint(_ text: String) -> Bool {
        text.isEmpty || isName(text.hasPrefix(".") ? text.dropFirst() : text[...])
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
