/// Header fields in the order in which they were sent. Names are case-insensitive (RFC 9110 §5.1).
package struct HTTPHeaders: Hashable, Sendable {
    /// One header field.
    package struct Field: Hashable, Sendable {
        /// The field's name, with its original case.
        package let name: String
        /// The field's value, including white space around it.
        package let value: String

        /// Creates a field. Neither its name nor its value is checked.
        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// All fields, in the order in which they were sent.
    public private(set) var fields: [Field]

    /// Creates headers.
    ///
    /// - Parameter fields: the fields, in the order in which they are sent.
    package init(_ fields: [Field] = []) {
        self.fields = fields
    }

    /// Adds a field after the others, even if a field with the same name exists.
    package mutating func add(_ name: String, _ value: String) {
        fields.append(Field(name, value))
    }

    /// The first field with this name, without white space around its value.
    package subscript(_ name: String) -> String? {
        for field in fields where Self.equal(field.name, name) { return Self.trimmed(field.value) }
        return nil
    }

    /// Returns the values of all fields with this name.
    func all(_ name: String) -> [String] {
        var values: [String] = []
        for field in fields where Self.equal(field.name, name) { values.append(Self.trimmed(field.value)) }
        return values
    }

    private static func equal(_ a: String, _ b: String) -> Bool {
        // Compare the cheap cases first: in most comparisons the lengths differ, or the name has its usual case.
        guard a.utf8.count == b.utf8.count else { return false }
        return a == b || a.utf8.elementsEqual(b.utf8) { lowercase($0) == lowercase($1) }
    }

    private static func lowercase(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    private static func trimmed(_ value: String) -> String {
        let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard let first = value.utf8.first, let end = value.utf8.last, isSpace(first) || isSpace(end) else {
            return value
        }
        let start = value.utf8.drop(while: isSpace)
        guard let last = start.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(value[start.startIndex...last])
    }
}

/// The `User-Agent` of a client. Servers require a name and a version.
package struct UserAgent: Sendable, Hashable, CustomStringConvertible {
    /// The string `name/version`.
    package let description: String

    /// Creates a user agent. Characters that a product token cannot contain (RFC 9110 §10.1.5) are replaced by `-`.
    package init(name: String, version: String) {
        description = "\(Self.token(name))/\(Self.token(version))"
    }

    private static func token(_ text: String) -> String {
        let allowed = Set("!#$%&'*+-.^_`|~".utf8)
        let bytes = text.utf8.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                byte
            default:
                allowed.contains(byte) ? byte : UInt8(ascii: "-")
            }
        }
        return bytes.isEmpty ? "-" : String(decoding: bytes, as: UTF8.self)
    }
}
