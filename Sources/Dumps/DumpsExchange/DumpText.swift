import RemoteSettingsModel

/// A writer of JSON in the format of other projects' collection files: unescaped UTF-8, and numbers in their shortest
/// plain form.
enum DumpText {
    /// Returns the content of a collection's file.
    static func document(_ records: [JSONValue], timestamp: Timestamp, style: DumpStyle) -> [UInt8] {
        let document = JSONValue.object([
            .init(key: "data", value: .array(records.map { ordered($0, style.keys) })),
            .init(key: "timestamp", value: .number(JSONNumber(timestamp.milliseconds))),
        ])
        return text(document, indent: style.indent) + (style.endsWithNewline ? [UInt8(ascii: "\n")] : [])
    }

    /// Returns records as a JSON array, with all non-ASCII characters escaped.
    static func list(_ records: [JSONValue], style: DumpStyle) -> [UInt8] {
        JSONText.text(
            .array(records.map { ordered($0, style.keys) }),
            .init(indent: style.indent, strings: .ascii, number: PlainNumber.text))
    }

    /// Returns a single record.
    ///
    /// - Parameter indent: the number of spaces per level; `nil` for one line without white space.
    static func record(_ record: JSONValue, keys: DumpStyle.KeyOrder, indent: Int?) -> [UInt8] {
        text(ordered(record, keys), indent: indent)
    }

    /// Returns whether two JSON texts differ only in white space, escapes, and the order of members and records.
    static func haveSameData(_ one: Bytes, _ other: Bytes) -> Bool {
        guard one != other else { return true }
        guard let one = try? sorted(one), let other = try? sorted(other) else { return false }
        return one == other
    }

    /// Returns the value of a JSON text, with its members and, if it is the file of a collection, its records sorted.
    private static func sorted(_ text: Bytes) throws(Failure) -> JSONValue {
        let value = try JSONValue(parsing: CanonicalJSON.canonicalize(text))
        if let records = value["data"]?.array, case .object(let members) = value, members.count == 2 {
            let others = members.filter { $0.key != "data" }
            return .object(others + [.init(key: "data", value: .array(sorted(records)))])
        }
        return value.array.map { .array(sorted($0)) } ?? value
    }

    private static func sorted(_ records: [JSONValue]) -> [JSONValue] {
        records.map { (text: JSONText.compact($0), value: $0) }
            .sorted { $0.text.lexicographicallyPrecedes($1.text) }.map(\.value)
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

    /// Returns the value with its members in the order of PostgreSQL's `jsonb`, at all levels.
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
