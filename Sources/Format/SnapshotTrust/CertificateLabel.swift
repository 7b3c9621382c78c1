/// The certificate of a chain that an error is about.
package struct CertificateLabel: Hashable, Sendable, CustomStringConvertible {
    /// The position in the chain's text. The leaf is 1.
    package let position: Int
    /// The number of certificates in the chain.
    package let count: Int
    /// The subject's common name, or its whole distinguished name if it has none. The text is not trusted.
    package let subject: String

    package var description: String {
        let role =
            switch position {
            case 1: "leaf"
            case count: "root"
            default: "intermediate"
            }
        return "certificate \(position) of \(count) (\(role), \(quoted(subject)))"
    }
}

/// Quotes text from outside for a message. It is shortened and escaped, so that it cannot look like a part of the
/// message.
func quoted(_ text: String) -> String {
    let shown = text.prefix(120)
    return String(reflecting: String(shown)) + (shown.endIndex == text.endIndex ? "" : "…")
}
