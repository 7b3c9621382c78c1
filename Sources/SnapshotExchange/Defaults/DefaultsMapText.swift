import RemoteSettingsModel

/// Defaults as the `<defaultsMap>` that Remote Config loads: entries of a key and a text, which the app reads as what it
/// wants. A list, an object or null has no text there.
struct DefaultsMapText {
    private(set) var bytes: [UInt8] = []

    init(_ table: DefaultsTable) throws(ExchangeError) {
        line("<?xml version=\"1.0\" encoding=\"UTF-8\"?>")
        line("<defaultsMap>")
        for row in table.rows {
            let text: String
            switch row.value {
            case .string(let string): text = string
            case .bool(let bool): text = bool ? "true" : "false"
            case .number(let number): text = PlainNumber.text(number)
            case .null, .array, .object:
                throw table.refused(row, "a text, a number or a boolean", "a list, an object or null")
            }
            guard let key = XMLText.escaped(row.key), let value = XMLText.escaped(text) else {
                throw table.refused(row, "text that XML 1.0 can hold", "a control character")
            }
            line("    <entry>")
            line("        <key>\(key)</key>")
            line("        <value>\(value)</value>")
            line("    </entry>")
        }
        line("</defaultsMap>")
    }

    private mutating func line(_ text: String) {
        bytes.append(contentsOf: text.utf8)
        bytes.append(UInt8(ascii: "\n"))
    }
}
