import Dumps
import RemoteSettingsModel

/// A file format for in-app defaults.
package enum DefaultsFormat: Sendable {
    /// An XML property list: a dictionary with typed values.
    case propertyList
    case json
}

/// A writer of in-app defaults in a form that ``DefaultsDocument`` parses back unchanged. Does no I/O.
package struct DefaultsText {
    package private(set) var bytes: [UInt8] = []
    /// The default that is being written, for errors.
    private var key = ""

    /// Writes the defaults.
    ///
    /// - Parameter values: the defaults, in the order of the file. Their keys must be unique.
    /// - Throws: ``Failure`` for the first key or value that the format cannot represent. Its `file` is the key.
    package init(_ values: [JSONValue.Member], as format: DefaultsFormat) throws(Failure) {
        switch format {
        case .propertyList: try writePropertyList(values)
        case .json:
            let style = JSONText.Style(indent: 2, strings: .shortest, number: PlainNumber.text)
            bytes = JSONText.text(.object(values), style) + [UInt8(ascii: "\n")]
        }
    }

    private mutating func writePropertyList(_ values: [JSONValue.Member]) throws(Failure) {
        line(0, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")
        line(
            0,
            "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">"
        )
        line(0, "<plist version=\"1.0\">")
        try write(.object(values), level: 0)
        line(0, "</plist>")
    }

    private mutating func write(_ value: JSONValue, level: Int) throws(Failure) {
        switch value {
        case .null: throw refused("a value that a property list can express", "null")
        case .bool(let bool): line(level, bool ? "<true/>" : "<false/>")
        case .number(let number): line(level, try self.number(number))
        case .string(let string): line(level, "<string>\(try text(string))</string>")
        case .array(let elements):
            line(level, "<array>")
            for element in elements { try write(element, level: level + 1) }
            line(level, "</array>")
        case .object(let members):
            line(level, "<dict>")
            for member in members {
                if level == 0 { key = member.key }
                line(level + 1, "<key>\(try text(member.key))</key>")
                try write(member.value, level: level + 1)
            }
            line(level, "</dict>")
        }
    }

    private func number(_ number: JSONNumber) throws(Failure) -> String {
        let text = PlainNumber.text(number)
        guard !number.text.utf8.contains(where: { [0x2E, 0x45, 0x65].contains($0) }) else {
            return "<real>\(text)</real>"
        }
        guard number.int64 != nil else { throw refused("a signed 64-bit integer", text) }
        return "<integer>\(text)</integer>"
    }

    private func text(_ text: String) throws(Failure) -> String {
        guard let escaped = XMLText.escaped(text) else {
            throw refused("characters that XML 1.0 allows", "a control character")
        }
        return escaped
    }

    private func refused(_ expected: String, _ found: String) -> Failure {
        Failure(place: key, problem: "expected \(expected), found \(found)")
    }

    private mutating func line(_ level: Int, _ text: String) {
        bytes.append(contentsOf: repeatElement(UInt8(ascii: "\t"), count: level))
        bytes.append(contentsOf: text.utf8)
        bytes.append(UInt8(ascii: "\n"))
    }
}

/// An escaper of text for XML 1.0 (fifth edition, section 2.2).
private enum XMLText {
    /// Returns the escaped text; `nil` if the text contains a character that XML does not allow.
    static func escaped(_ text: String) -> String? {
        var output = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            // An XML parser would convert a carriage return to a line feed.
            case "\r": output += "&#13;"
            case "\t", "\n", "\u{20}"..."\u{D7FF}", "\u{E000}"..."\u{FFFD}", "\u{10000}"...:
                output.unicodeScalars.append(scalar)
            default: return nil
            }
        }
        return output
    }
}
