/// Formats JSON values. Members keep their order, and numbers their original notation.
package enum JSONText {
    /// The formatting of a document.
    package struct Style {
        /// The number of spaces for each level; `nil` for one line without white space.
        var indent: Int?
        var strings: JSONString.Escapes
        var number: (JSONNumber) -> String

        package init(indent: Int?, strings: JSONString.Escapes, number: @escaping (JSONNumber) -> String = \.text) {
            self.indent = indent
            self.strings = strings
            self.number = number
        }

        /// Two spaces for each level, and strings that cannot control a terminal.
        package static var indented: Style { Style(indent: 2, strings: .terminal) }
    }

    /// Returns the value on one line, without white space.
    package static func compact(_ value: JSONValue) -> [UInt8] {
        text(value, Style(indent: nil, strings: .terminal))
    }

    /// Returns the value on one line for people, with numbers in plain notation.
    package static func shown(_ value: JSONValue) -> [UInt8] {
        text(value, Style(indent: nil, strings: .terminal, number: PlainNumber.shown))
    }

    /// Returns the value with two spaces for each level and a trailing line feed.
    package static func indented(_ value: JSONValue) -> [UInt8] {
        text(value, .indented) + [UInt8(ascii: "\n")]
    }

    /// Returns a value as text.
    ///
    /// - Parameter level: the number of arrays and objects around the value, which determines the indentation.
    package static func text(_ value: JSONValue, _ style: Style, level: Int = 0) -> [UInt8] {
        var output: [UInt8] = []
        write(value, style, level: level, to: &output)
        return output
    }

    private static func write(_ value: JSONValue, _ style: Style, level: Int, to output: inout [UInt8]) {
        switch value {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let bool): output.append(contentsOf: (bool ? "true" : "false").utf8)
        case .number(let number): output.append(contentsOf: style.number(number).utf8)
        case .string(let text): JSONString.append(text, style.strings, to: &output)
        case .array(let elements):
            list(open: "[", items: elements, close: "]", style, level: level, to: &output) { element, output in
                write(element, style, level: level + 1, to: &output)
            }
        case .object(let members):
            list(open: "{", items: members, close: "}", style, level: level, to: &output) { member, output in
                JSONString.append(member.key, style.strings, to: &output)
                output.append(contentsOf: (style.indent == nil ? ":" : ": ").utf8)
                write(member.value, style, level: level + 1, to: &output)
            }
        }
    }

    private static func list<Item>(
        open: Unicode.Scalar, items: [Item], close: Unicode.Scalar, _ style: Style, level: Int,
        to output: inout [UInt8], write: (Item, inout [UInt8]) -> Void
    ) {
        func newline(_ level: Int) {
            guard let indent = style.indent else { return }
            output.append(UInt8(ascii: "\n"))
            output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: indent * level))
        }
        output.append(UInt8(ascii: open))
        for (index, item) in items.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            newline(level + 1)
            write(item, &output)
        }
        if !items.isEmpty { newline(level) }
        output.append(UInt8(ascii: close))
    }
}

/// Formats JSON strings (RFC 8259, section 7).
package enum JSONString {
    /// The characters to escape in addition to the quote and the backslash.
    package enum Escapes {
        /// Control characters. The short escape is used if there is one, as in `JSON.stringify` and serde_json.
        case shortest
        /// All characters outside printable ASCII. The short escape is used if there is one, as in ``CanonicalJSON``.
        case canonical
        /// Control characters and delete, because a terminal could interpret them. The only short escape is `\n`.
        case terminal
        /// All characters outside printable ASCII, as `\u` and four lower-case digits for each UTF-16 code unit.
        case ascii

        var isShort: Bool { self == .shortest || self == .canonical }
    }

    package static func append(_ string: String, _ escapes: Escapes, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        if !appendPlain(string, to: &text) {
            switch escapes {
            case .ascii, .canonical:
                for scalar in string.unicodeScalars {
                    if scalar.value < 0x7F {
                        append(UInt8(scalar.value), escapes, to: &text)
                    } else {
                        for unit in scalar.utf16 { appendEscape(unit, to: &text) }
                    }
                }
            case .shortest, .terminal:
                for byte in string.utf8 { append(byte, escapes, to: &text) }
            }
        }
        text.append(UInt8(ascii: "\""))
    }

    /// Appends a string that needs no escapes, which is the usual case.
    ///
    /// - Returns: `false`, with nothing appended, if the string needs escapes.
    private static func appendPlain(_ string: String, to text: inout [UInt8]) -> Bool {
        var string = string
        return string.withUTF8 { bytes in
            var end = 0
            unsafe JSONLexer.skipPlain(Span(_unsafeElements: bytes), &end)
            guard end == bytes.count else { return false }
            unsafe text.append(contentsOf: bytes)
            return true
        }
    }

    @inline(__always)
    private static func append(_ byte: UInt8, _ escapes: Escapes, to text: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): text.append(contentsOf: [UInt8(ascii: "\\"), byte])
        case 0x0A where escapes != .ascii: text.append(contentsOf: "\\n".utf8)
        case 0x08 where escapes.isShort: text.append(contentsOf: "\\b".utf8)
        case 0x09 where escapes.isShort: text.append(contentsOf: "\\t".utf8)
        case 0x0C where escapes.isShort: text.append(contentsOf: "\\f".utf8)
        case 0x0D where escapes.isShort: text.append(contentsOf: "\\r".utf8)
        case 0x7F where escapes == .terminal: appendEscape(0x7F, to: &text)
        case 0..<0x20: appendEscape(UInt16(byte), to: &text)
        default: text.append(byte)
        }
    }

    private static func appendEscape(_ unit: UInt16, to text: inout [UInt8]) {
        text.append(contentsOf: "\\u".utf8)
        for shift in [12, 8, 4, 0] as [UInt16] {
            let digit = UInt8(truncatingIfNeeded: unit >> shift & 15)
            text.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
        }
    }
}

/// Formats numbers in the notation that most libraries use.
package enum PlainNumber {
    /// Returns the text of a number. Integers remain unchanged. Other numbers get the shortest digits of the same
    /// double: `1.5` for the canonical `1.5E0`.
    package static func text(_ number: JSONNumber) -> String {
        number.text.utf8.contains { [0x2E, 0x45, 0x65].contains($0) } ? number.double.description : number.text
    }

    /// Returns the text of a number for people, without `.0`: `100` for the canonical `1E2`.
    package static func shown(_ number: JSONNumber) -> String {
        let text = text(number)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
