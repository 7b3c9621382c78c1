import RemoteSettingsModel

/// Parses the query that a form sends (application/x-www-form-urlencoded, WHATWG URL §5).
enum FormText {
    /// Returns the value of the first parameter with this name; `nil` if there is none, or if its encoding is invalid.
    static func parameter(_ name: String, of query: String) -> String? {
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair[0] == name else { continue }
            return PercentEncoding.strictlyDecode(pair.count == 2 ? pair[1] : "", plusIsSpace: true)
        }
        return nil
    }
}
