import RemoteSettingsHTTP

/// Text in the queries that forms send (application/x-www-form-urlencoded, WHATWG URL §5), and in paths.
enum FormText {
    /// - Parameter plusIsSpace: as in a form's query, not in a path.
    /// - Returns: `nil` where a `%` is not followed by two hexadecimal digits, or where the bytes are not UTF-8.
    static func decode(_ text: some StringProtocol, plusIsSpace: Bool) -> String? {
        // A plus sign that is meant is encoded.
        let text = plusIsSpace ? String(text.map { $0 == "+" ? " " : $0 }) : String(text)
        return PercentEncoding.bytes(text).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The value of the first parameter of that name.
    static func parameter(_ name: String, of query: String) -> String? {
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if pair[0] == name { return decode(pair.count == 2 ? pair[1] : "", plusIsSpace: true) }
        }
        return nil
    }
}
