import RemoteSettingsModel

/// The parameters of a query string. If one is given twice, the last one counts.
struct QueryParameters {
    /// The parameters as they were sent. There are few, so a linear search costs less than a table.
    private let pairs: [(name: Substring, value: Substring)]

    init(_ query: Substring?) {
        pairs = (query ?? "").utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            return (Substring(pair[..<end]), Substring(pair[end...].dropFirst()))
        }
    }

    var isEmpty: Bool { pairs.isEmpty }

    subscript(name: String) -> String? {
        pairs.last { $0.name == name || Self.decode($0.name) == name }.map { Self.decode($0.value) }
    }

    /// Names and values, decoded. Each name occurs once, with its last value.
    var all: [(name: String, value: String)] {
        var places: [String: Int] = [:]
        var found: [(name: String, value: String)] = []
        for pair in pairs {
            let name = Self.decode(pair.name)
            let value = Self.decode(pair.value)
            if let place = places[name] {
                found[place].value = value
            } else {
                places[name] = found.count
                found.append((name, value))
            }
        }
        return found
    }

    private static func decode(_ text: Substring) -> String { PercentEncoding.decode(text, plusIsSpace: true) }
}
