import RemoteSettingsModel

/// The parameters of a query string. If one of them appears twice, the last one counts.
struct QueryParameters {
    /// The parameters as they were sent. There are few, so a linear search costs less than a table.
    private let pairs: [(name: Substring, value: Substring)]

    init(_ query: Substring?) {
        pairs = (query ?? "").utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            return (Substring(pair[..<end]), Substring(pair[end...].dropFirst()))
        }
    }

    subscript(name: String) -> String? {
        pairs.last { $0.name == name || Self.decode($0.name) == name }.map { Self.decode($0.value) }
    }

    var names: [String] { pairs.map { Self.decode($0.name) } }

    private static func decode(_ text: Substring) -> String { PercentEncoding.decode(text, plusIsSpace: true) }
}
