/// Which certificate of a chain an error is about.
public struct CertificateLabel: Hashable, Sendable, CustomStringConvertible {
    /// The position in the chain's text; the leaf is 1.
    public let position: Int
    /// How many certificates the chain has.
    public let count: Int
    /// The subject's common name, or its whole distinguished name where it has none. It is untrusted text.
    public let subject: String

    public var description: String {
        let role =
            switch position {
            case 1: "leaf"
            case count: "root"
            default: "intermediate"
            }
        return "certificate \(position) of \(count) (\(role), \(quoted(subject)))"
    }
}

/// Foreign text for a message: escaped, so that it cannot pass for a part of the message, and not too long.
func quoted(_ text: String) -> String {
    let shown = text.prefix(120)
    return String(reflecting: String(shown)) + (shown.endIndex == text.endIndex ? "" : "…")
}
