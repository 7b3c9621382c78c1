import RemoteSettingsModel

/// The reason why a collection failed, for a summary: the error's text without the collection's name, and the URL
/// separately.
struct FailureReason {
    let text: String
    /// The URL that failed; `nil` if the error contains none.
    let url: String?

    init(_ outcome: CollectionOutcome) {
        var words = outcome.error.map { "\($0)" }?.split(separator: " ") ?? []
        if let first = words.first.map({ Bytes(utf8: String($0)) }), words.count > 1,
            first == Bytes(utf8: "\(outcome.id)") || first == Bytes(utf8: "\(outcome.id):")
        {
            words.removeFirst()
        }
        // In an error's text, the URL comes before the problem: `https://…/changeset: the server answered 404`.
        var found: String?
        if let position = words.firstIndex(where: Self.isURL) {
            let word = words.remove(at: position)
            let parentheses = word.prefix { $0 == "(" }
            found = String(word.dropFirst(parentheses.count).dropLast())
            if position < words.count { words[position] = parentheses + words[position] }
        }
        if let url = found.map({ Bytes(utf8: $0) }) {
            // Remove the location of an attachment too, because it is the last part of the URL.
            words.removeAll { $0.utf8.contains(UInt8(ascii: "/")) && url.isEnd(Bytes(utf8: String($0))) }
        }
        (text, url) = (words.joined(separator: " "), found)
    }

    private static func isURL(_ word: Substring) -> Bool {
        let text = word.drop { $0 == "(" }
        return text.hasSuffix(":") && (text.hasPrefix("http://") || text.hasPrefix("https://"))
    }
}

extension Bytes {
    fileprivate func isEnd(_ end: Bytes) -> Bool { count >= end.count && self[count - end.count..<count] == end }
}
