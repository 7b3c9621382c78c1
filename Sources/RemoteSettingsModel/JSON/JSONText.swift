/// Writes JSON for people and programs to read: members in their given order, numbers as they were written.
public enum JSONText {
    /// On one line, without white space.
    public static func compact(_ value: JSONValue) -> [UInt8] {
        var output: [UInt8] = []
        write(value, indent: nil, to: &output)
        return output
    }

    /// With two spaces for each level and a line feed at the end.
    public static func indented(_ value: JSONValue) -> [UInt8] {
        var output: [UInt8] = []
        write(value, indent: 0, to: &output)
        output.append(UInt8(ascii: "\n"))
        return output
    }

    private static func write(_ value: JSONValue, indent: Int?, to output: inout [UInt8]) {
        switch value {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let bool): output.append(contentsOf: (bool ? "true" : "false").utf8)
        case .number(let number): output.append(contentsOf: number.text.utf8)
        case .string(let text): write(text, to: &output)
        case .array(let elements):
            list("[", "]", elements, indent: indent, to: &output) { element, output in
                write(element, indent: indent.map { $0 + 1 }, to: &output)
            }
        case .object(let members):
            list("{", "}", members, indent: indent, to: &output) { member, output in
                write(member.key, to: &output)
                output.append(contentsOf: (indent == nil ? ":" : ": ").utf8)
                write(member.value, indent: indent.map { $0 + 1 }, to: &output)
            }
        }
    }

    private static func list<Item>(
        _ open: Character, _ close: Character, _ items: [Item], indent: Int?, to output: inout [UInt8],
        write: (Item, inout [UInt8]) -> Void
    ) {
        output.append(contentsOf: open.utf8)
        for (index, item) in items.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            if let indent { newline(indent + 1, to: &output) }
            write(item, &output)
        }
        if let indent, !items.isEmpty { newline(indent, to: &output) }
        output.append(contentsOf: close.utf8)
    }

    private static func newline(_ indent: Int, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\n"))
        output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: indent * 2))
    }

    private static func write(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): output.append(contentsOf: [UInt8(ascii: "\\"), byte])
            case 0x0A: output.append(contentsOf: "\\n".utf8)
            case 0..<0x20, 0x7F:
                let hex = String(byte, radix: 16)
                output.append(contentsOf: ("\\u" + String(repeating: "0", count: 4 - hex.count) + hex).utf8)
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }
}
