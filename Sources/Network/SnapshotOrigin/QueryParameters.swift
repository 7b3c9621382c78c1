import RemoteSettingsModel

/// The parameters of a query string.
struct QueryParameters {
    /// The parameters as they were sent. There are few, so a linear search costs less than a table.
    private let pairs: [(name: Substring, value: Substring)]

    init(_ query: Substring?) {
        pairs = (query ?? "").utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            return (Substring(pair[..<end]), Substring(pair[end...].dropFirst()))
        }
    }

    /// The last value of a parameter; `nil` if there is none.
    subscript(name: String) -> String? { values(name).last }

    /// Returns the value of a parameter that must not be repeated.
    func only(_ name: String) throws(OriginProblem) -> String? {
        let values = values(name)
        guard values.count <= 1 else { throw .invalid(name, "must not be repeated") }
        return values.first
    }

    var names: [String] { pairs.map { Self.decode($0.name) } }

    /// Returns the query part of a URL: the question mark and all parameters except one; empty if there are no others.
    func suffix(without name: String? = nil) -> String {
        let kept = pairs.filter { pair in name.map { !Self.isName($0, pair.name) } ?? true }
        let text = kept.map { pair in
            "\(PercentEncoding.component(Self.decode(pair.name)))=\(PercentEncoding.component(Self.decode(pair.value)))"
        }
        return text.isEmpty ? "" : "?" + text.joined(separator: "&")
    }

    private func values(_ name: String) -> [String] {
        pairs.filter { Self.isName(name, $0.name) }.map { Self.decode($0.value) }
    }

    private static func isName(_ name: String, _ sent: Substring) -> Bool {
        sent.utf8.elementsEqual(name.utf8) || decode(sent).utf8.elementsEqual(name.utf8)
    }

    private static func decode(_ text: Substring) -> String { PercentEncoding.decode(text, plusIsSpace: true) }
}
