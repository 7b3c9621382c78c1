import RemoteSettingsModel

/// Writes a JSON value as indented HTML, with different colors for names and values. No value becomes a link, for
/// safety.
enum JSONView {
    static func write(_ value: JSONValue, to html: inout HTMLWriter, indent: Int = 0) {
        switch value {
        case .null: html.element(.span, .class("literal"), text: "null")
        case .bool(let bool): html.element(.span, .class("literal"), text: bool ? "true" : "false")
        case .number(let number): html.element(.span, .class("literal"), text: number.text)
        case .string(let text): string(text, to: &html)
        case .array(let elements):
            list(open: "[", close: "]", items: elements, indent: indent, to: &html) { element, html in
                write(element, to: &html, indent: indent + 1)
            }
        case .object(let members):
            list(open: "{", close: "}", items: members, indent: indent, to: &html) { member, html in
                html.element(.span, .class("key")) { string(member.key, to: &$0) }
                html.text(": ")
                write(member.value, to: &html, indent: indent + 1)
            }
        }
    }

    private static func list<Item>(
        open: String, close: String, items: [Item], indent: Int, to html: inout HTMLWriter,
        write: (Item, inout HTMLWriter) -> Void
    ) {
        html.text(open)
        for (index, item) in items.enumerated() {
            html.text((index > 0 ? ",\n" : "\n") + String(repeating: "  ", count: indent + 1))
            write(item, &html)
        }
        if !items.isEmpty { html.text("\n" + String(repeating: "  ", count: indent)) }
        html.text(close)
    }

    /// Writes a string in quotes, with JSON escapes, isolated from the writing direction of the surrounding text.
    private static func string(_ text: String, to html: inout HTMLWriter) {
        html.element(.span, .class("string"), .ownDirection) { html in
            var shown = "\""
            for scalar in text.unicodeScalars {
                switch scalar {
                case "\"", "\\": shown += "\\\(scalar)"
                case "\n": shown += "\\n"
                case "\t": shown += "\\t"
                case "\r": shown += "\\r"
                default: shown.unicodeScalars.append(scalar)
                }
            }
            html.text(shown + "\"")
        }
    }
}
