import RemoteSettingsHTTP

/// The parameters of a query string; of those given twice, the last.
struct QueryParameters {
    private var values: [String: String] = [:]

    init(_ query: String?) {
        for pair in (query ?? "").split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            values[Self.decode(parts[0])] = parts.count > 1 ? Self.decode(parts[1]) : ""
        }
    }

    subscript(name: String) -> String? { values[name] }

    private static func decode(_ text: Substring) -> String {
        let spaced = text.utf8.contains(UInt8(ascii: "+")) ? String(text.map { $0 == "+" ? " " : $0 }) : String(text)
        return PercentEncoding.decode(spaced)
    }
}
