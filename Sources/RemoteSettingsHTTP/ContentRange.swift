/// The `Content-Range` of an answer (RFC 9110 §14.4), unit `bytes`.
struct ContentRange: Hashable {
    /// `nil` in the unsatisfied form, `bytes */1234`.
    var range: ClosedRange<Int>?
    /// `nil` where the server does not know it.
    var size: Int?

    init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if parts[1] != "*" {
            guard let size = Self.number(parts[1]) else { return nil }
            self.size = size
        }
        if parts[0] != "*" {
            let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
                last < size ?? .max
            else { return nil }
            range = first...last
        } else if size == nil {
            return nil
        }
    }

    static func number(_ text: some StringProtocol) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }
}
