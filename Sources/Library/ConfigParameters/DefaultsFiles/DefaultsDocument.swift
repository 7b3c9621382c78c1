import RemoteSettingsModel

/// In-app defaults from a file: a property list (XML or binary), JSON, or Android's `<defaultsMap>`. Parsing does no
/// I/O.
package struct DefaultsDocument: Sendable {
    package struct Member: Sendable {
        package let key: String
        /// The key's line; `nil` in a binary property list, which has no lines.
        package let line: Int?
        package let value: DefaultsValue
    }

    /// The members in the order of the file. Keys are unique.
    package let members: [Member]
    /// Whether the file format has typed values. Android's `<defaultsMap>` has only strings, which the app converts.
    package let hasTypes: Bool

    /// Parses a file in any supported format. The format is recognized by the file's first bytes.
    ///
    /// - Throws: ``Failure``.
    package init(_ bytes: Bytes) throws(Failure) {
        if Self.isPropertyListOrMarkup(bytes) {
            (members, hasTypes) = try Self.read(bytes)
        } else {
            (members, hasTypes) = (try Self.json(bytes), true)
        }
    }

    /// Parses a property list, in XML or binary form. Other formats are refused.
    ///
    /// - Throws: ``Failure``.
    package init(propertyList bytes: Bytes) throws(Failure) {
        (members, hasTypes) = try Self.read(bytes)
        guard hasTypes else { throw Failure(line: 1, notDefaults: "this is Android's XML, not a property list") }
    }

    private static func isPropertyListOrMarkup(_ bytes: Bytes) -> Bool {
        bytes.starts(with: BinaryPropertyList.magic)
            || bytes.array.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) } == UInt8(ascii: "<")
    }

    private static func read(_ bytes: Bytes) throws(Failure) -> ([Member], Bool) {
        if bytes.starts(with: BinaryPropertyList.magic) {
            return (try BinaryPropertyList(bytes.array).members(), true)
        }
        var markup = try DefaultsMarkup(bytes)
        return try markup.document()
    }

    private static func json(_ bytes: Bytes) throws(Failure) -> [Member] {
        do throws(Failure) {
            var reader = JSONReader(bytes)
            var members: [Member] = []
            // Lines are counted incrementally, from one key to the next, so that the text is scanned only once.
            var (line, counted) = (1, 0)
            try reader.beginObject()
            while let key = try reader.nextKey() {
                line += bytes[counted..<reader.offset].withSpan { $0.line(at: $0.count) } - 1  // bounded: by the text
                counted = reader.offset
                members.append(Member(key: key, line: line, value: .json(try reader.value())))
            }
            try reader.finish()
            return members
        } catch {
            throw Failure(
                line: error.line(in: bytes),
                notDefaults: "not a JSON object with a value for each key: \(error.problem)")
        }
    }
}

/// The value of a default. Property lists have two types that JSON lacks: data and dates.
package enum DefaultsValue: Sendable {
    case json(JSONValue)
    case data(Bytes)
    case date(Timestamp)
    case list([DefaultsValue])
    case mapping([DefaultsDocument.Member])

    /// Returns the value as JSON.
    ///
    /// - Parameter replaced: a closure that returns the replacement for each ``data(_:)`` and ``date(_:)`` in it.
    package func json<Failure: Error>(
        _ replaced: (DefaultsValue) throws(Failure) -> JSONValue
    ) throws(Failure) -> JSONValue {
        switch self {
        case .json(let value): return value
        case .data, .date: return try replaced(self)
        case .list(let elements):
            var values: [JSONValue] = []
            for element in elements { values.append(try element.json(replaced)) }
            return .array(values)
        case .mapping(let members):
            var values: [JSONValue.Member] = []
            for member in members { values.append(.init(key: member.key, value: try member.value.json(replaced))) }
            return .object(values)
        }
    }

    /// Parses a number and keeps its digits as written; returns `nil` if it is not a JSON number.
    static func number(_ text: String) -> DefaultsValue? {
        guard case .number(let number)? = try? JSONValue(parsing: Bytes(utf8: text)) else { return nil }
        return .json(.number(number))
    }
}
