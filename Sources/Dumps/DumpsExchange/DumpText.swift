import RemoteSettingsModel

/// Writes JSON as other projects write their collection files: unescaped UTF-8, and numbers in their shortest plain
/// form.
enum DumpText {
    /// A collection's file.
    static func document(_ records: [JSONValue], timestamp: Timestamp, style: DumpStyle) -> [UInt8] {
        let document = JSONValue.object([
            .init(key: "data", value: .array(records.map { ordered($0, style.keys) })),
            .init(key: "timestamp", value: .number(JSONNumber(timestamp.milliseconds))),
        ])
        return text(document, indent: style.indent) + (style.endsWithNewline ? [UInt8(ascii: "\n")] : [])
    }

    /// Records as a list, with everything but ASCII escaped.
    static func list(_ records: [JSONValue], style: DumpStyle) -> [UInt8] {
        JSONText.text(
            .array(records.map { ordered($0, style.keys) }),
            .init(indent: style.indent, strings: .ascii, number: PlainNumber.text))
    }

    /// A record on its own.
    ///
    /// - Parameter indent: the number of spaces for each level; `nil` for one line without white space.
    static func record(_ record: JSONValue, keys: DumpStyle.KeyOrder, indent: Int?) -> [UInt8] {
        text(ordered(record, keys), indent: indent)
    }

    private static func text(_ value: JSONValue, indent: Int?) -> [UInt8] {
        JSONText.text(value, .init(indent: indent, strings: .shortest, number: PlainNumber.text))
    }

    private static func ordered(_ record: JSONValue, _ keys: DumpStyle.KeyOrder) -> JSONValue {
        // The members of values in a bundle are already sorted.
        guard keys == .served else { return record }
        guard case .object(let members) = served(record) else { return served(record) }
        let own: [ExactString] = ["id", "last_modified"]
        return .object(
            members.filter { !own.contains($0.key.exact) }
                + own.compactMap { key in members.first { key == $0.key.exact } })
    }

    /// The value with its members in the order of PostgreSQL's `jsonb`, on all levels.
    private static func served(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map(served))
        case .object(let members):
            let sorted = members.sorted { left, right in
                let (a, b) = (left.key.utf8, right.key.utf8)
                return a.count == b.count ? a.lexicographicallyPrecedes(b) : a.count < b.count
            }
            return .object(sorted.map { .init(key: $0.key, value: served($0.value)) })
        case .null, .bool, .number, .string: return value
        }
    }
}
