import RemoteSettingsModel

/// A description of a certificate in a chain, for errors.
package struct CertificateLabel: Hashable, Sendable, CustomStringConvertible {
    /// The position in the chain, starting with 1 for the leaf.
    let position: Int
    /// The number of certificates in the chain.
    let count: Int
    /// The subject's common name, or its whole distinguished name if it has none. This text is untrusted.
    let subject: String

    package var description: String {
        let role =
            switch position {
            case 1: "leaf"
            case count: "root"
            default: "intermediate"
            }
        return "certificate \(position) of \(count) (\(role), \(VisibleText.quote(subject)))"
    }
}
