/// The certificate of a chain that an error is about.
package struct CertificateLabel: Hashable, Sendable, CustomStringConvertible {
    /// The position in the chain's text; the leaf is 1.
    package let position: Int
    /// The number of certificates in the chain.
    package let count: Int
    /// The subject's common name, or its whole distinguished name if it has none. It is untrusted text.
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

/// Text from outside, for a message. It is escaped, so that it cannot pass for a part of the message, and it is
/// shortened.
func quoted(_ text: String) -> String {
    let shown = text.prefix(120)
    return String(reflecting: String(shown)) + (shown.endIndex == text.endIndex ? "" : "…")
}
