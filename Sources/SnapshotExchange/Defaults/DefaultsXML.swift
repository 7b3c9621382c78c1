import RemoteSettingsModel

/// Defaults as an XML property list: a dictionary with the values in their own types.
struct PropertyListText {
    private(set) var bytes: [UInt8] = []
    private let table: DefaultsTable

    init(_ table: DefaultsTable) throws(ExchangeError) {
        self.table = table
        line(0, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")
        line(
            0,
            "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">"
        )
        line(0, "<plist version=\"1.0\">")
        line(0, "<dict>")
        for row in table.rows {
            line(1, "<key>\(try text(row.key, row))</key>")
            try write(row.value, level: 1, of: row)
        }
        line(0, "</dict>")
        line(0, "</plist>")
    }

    private mutating func write(_ value: JSONValue, level: Int, of row: DefaultsTable.Row) throws(ExchangeError) {
        switch value {
        case .null: throw table.refused(row, expected: "a value that a property list can hold", found: "null")
        case .bool(let bool): line(level, bool ? "<true/>" : "<false/>")
        case .number(let number): line(level, try self.number(number, row))
        case .string(let string): line(level, "<string>\(try text(string, row))</string>")
        case .array(let elements):
            line(level, "<array>")
            for element in elements { try write(element, level: level + 1, of: row) }
            line(level, "</array>")
        case .object(let members):
            line(level, "<dict>")
            for member in members {
                line(level + 1, "<key>\(try text(member.key, row))</key>")
                try write(member.value, level: level + 1, of: row)
            }
            line(level, "</dict>")
        }
    }

    private func number(_ number: JSONNumber, _ row: DefaultsTable.Row) throws(ExchangeError) -> String {
        let text = PlainNumber.text(number)
        guard text == number.text else { return "<real>\(text)</real>" }
        guard number.int64 != nil else {
            throw table.refused(row, expected: "an integer of 64 bits with a sign", found: text)
        }
        return "<integer>\(text)</integer>"
    }

    private func text(_ text: String, _ row: DefaultsTable.Row) throws(ExchangeError) -> String {
        guard let escaped = XMLText.escaped(text) else {
            throw table.refused(row, expected: "text that XML 1.0 can hold", found: "a control character")
        }
        return escaped
    }

    private mutating func line(_ level: Int, _ text: String) {
        bytes.append(contentsOf: repeatElement(UInt8(ascii: "\t"), count: level))
        bytes.append(contentsOf: text.utf8)
        bytes.append(UInt8(ascii: "\n"))
    }
}

/// Defaults as the `<defaultsMap>` that Remote Config loads: entries of a key and a text, which the app converts. Lists,
/// objects and null cannot be expressed.
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
                throw table.refused(row, expected: "a text, a number or a boolean", found: "a list, an object or null")
            }
            guard let key = XMLText.escaped(row.key), let value = XMLText.escaped(text) else {
                throw table.refused(row, expected: "text that XML 1.0 can hold", found: "a control character")
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

/// Text in XML 1.0 (fifth edition, section 2.2).
enum XMLText {
    /// - Returns: `nil` where the text has a character that XML cannot hold.
    static func escaped(_ text: String) -> String? {
        var output = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            // An XML parser would turn it into a line feed.
            case "\r": output += "&#13;"
            case "\t", "\n", "\u{20}"..."\u{D7FF}", "\u{E000}"..."\u{FFFD}", "\u{10000}"...:
                output.unicodeScalars.append(scalar)
            default: return nil
            }
        }
        return output
    }
}
