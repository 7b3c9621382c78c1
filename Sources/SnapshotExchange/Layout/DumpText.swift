import RemoteSettingsModel

/// Writes JSON as the projects do that keep collections as files: UTF-8 as it is, escapes only where RFC 8259 wants them,
/// numbers in their shortest plain form.
struct DumpText {
    let keys: DumpStyle.KeyOrder
    /// Spaces for each level; `nil` for everything on one line without white space.
    let indent: Int?
    private(set) var bytes: [UInt8] = []

    init(keys: DumpStyle.KeyOrder, indent: Int?) {
        self.keys = keys
        self.indent = indent
    }

    /// A collection's file.
    static func document(_ records: [JSONValue], timestamp: Timestamp, style: DumpStyle) -> [UInt8] {
        var text = DumpText(keys: style.keys, indent: style.indent)
        let members = [
            JSONValue.Member(key: "data", value: .array(records)),
            JSONValue.Member(key: "timestamp", value: .number(JSONNumber(timestamp.milliseconds))),
        ]
        text.list("{", "}", members, level: 0) { member, text in
            text.key(member.key)
            guard case .array(let records) = member.value else { return text.write(member.value, level: 1) }
            text.list("[", "]", records, level: 1) { record, text in text.record(record, level: 2) }
        }
        if style.endsWithNewline { text.bytes.append(UInt8(ascii: "\n")) }
        return text.bytes
    }

    /// A record on its own.
    static func record(_ record: JSONValue, keys: DumpStyle.KeyOrder, indent: Int?) -> [UInt8] {
        var text = DumpText(keys: keys, indent: indent)
        text.record(record, level: 0)
        return text.bytes
    }

    private mutating func record(_ record: JSONValue, level: Int) {
        guard case .object(let members) = record, keys == .served else { return write(record, level: level) }
        let own = ["id", "last_modified"]
        let others = Self.served(members.filter { !own.contains($0.key) })
        object(others + own.compactMap { key in members.first { $0.key == key } }, level: level)
    }

    mutating func write(_ value: JSONValue, level: Int) {
        switch value {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let bool): bytes.append(contentsOf: (bool ? "true" : "false").utf8)
        case .number(let number): bytes.append(contentsOf: PlainNumber.text(number).utf8)
        case .string(let text): write(text)
        case .array(let elements):
            list("[", "]", elements, level: level) { element, text in text.write(element, level: level + 1) }
        case .object(let members): object(keys == .served ? Self.served(members) : members, level: level)
        }
    }

    /// Members in the order of PostgreSQL's `jsonb`.
    private static func served(_ members: [JSONValue.Member]) -> [JSONValue.Member] {
        members.sorted { left, right in
            let (a, b) = (left.key.utf8, right.key.utf8)
            return a.count == b.count ? a.lexicographicallyPrecedes(b) : a.count < b.count
        }
    }

    private mutating func object(_ members: [JSONValue.Member], level: Int) {
        list("{", "}", members, level: level) { member, text in
            text.key(member.key)
            text.write(member.value, level: level + 1)
        }
    }

    private mutating func key(_ key: String) {
        write(key)
        bytes.append(contentsOf: (indent == nil ? ":" : ": ").utf8)
    }

    private mutating func list<Item>(
        _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ items: [Item], level: Int,
        write: (Item, inout DumpText) -> Void
    ) {
        bytes.append(UInt8(ascii: open))
        for (index, item) in items.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            newline(level + 1)
            write(item, &self)
        }
        if !items.isEmpty { newline(level) }
        bytes.append(UInt8(ascii: close))
    }

    private mutating func newline(_ level: Int) {
        guard let indent else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: indent * level))
    }

    private mutating func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
            case 0x08: bytes.append(contentsOf: "\\b".utf8)
            case 0x09: bytes.append(contentsOf: "\\t".utf8)
            case 0x0A: bytes.append(contentsOf: "\\n".utf8)
            case 0x0C: bytes.append(contentsOf: "\\f".utf8)
            case 0x0D: bytes.append(contentsOf: "\\r".utf8)
            case 0..<0x20:
                bytes.append(contentsOf: (byte < 0x10 ? "\\u000" : "\\u00").utf8)
                bytes.append(contentsOf: String(byte, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

/// Numbers as people and most libraries write them.
enum PlainNumber {
    /// Integers as they are; others as the shortest digits that give the same double, `1.5` for the canonical `1.5E0`.
    static func text(_ number: JSONNumber) -> String {
        number.text.utf8.contains { [0x2E, 0x45, 0x65].contains($0) } ? number.double.description : number.text
    }
}
