import RemoteSettingsModel

/// The certificate of a chain that an error is about.
package struct CertificateLabel: Hashable, Sendable, CustomStringConvertible {
    /// The position in the chain's text. The leaf is 1.
    let position: Int
    /// The number of certificates in the chain.
    let count: Int
    /// The subject's common name, or its whole distinguished name if it has none. The text is not trusted.
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
