/// Any JSON value. Members of objects keep their order, and numbers their original notation.
///
/// Strings and keys are compared by their UTF-8 bytes.
///
/// Closed: no version adds a case.
public enum JSONValue: Sendable {
    /// The literal `null`.
    case null
    /// The literals `true` and `false`.
    case bool(Bool)
    /// A number in its original notation.
    case number(JSONNumber)
    /// A string, without escapes.
    case string(String)
    /// The elements of an array.
    case array([JSONValue])
    /// The members of an object, in document order.
    case object([Member])

    /// One member of an object.
    public struct Member: Hashable, Sendable {
        let name: ExactString
        /// The member's value.
        public let value: JSONValue

        /// Creates a member with the given name and value.
        public init(key: String, value: JSONValue) {
            name = key.exact
            self.value = value
        }

        /// The member's name, without escapes.
        public var key: String { name.string }

        func has(_ key: ExactString) -> Bool { name == key }
    }

    /// Parses a whole document according to RFC 8259. It refuses a key that appears twice in one object, and documents
    /// that exceed `limits`.
    ///
    /// - Throws: ``Failure`` with the position of the first error.
    package init(
        parsing document: Bytes, depth: Int = Limits.jsonDepth, members: Int = Limits.jsonMembers,
        values: Int = Limits.jsonValues
    ) throws(Failure) {
        var reader = JSONReader(document, depth: depth, members: members, values: values)
        self = try reader.value()
        try reader.finish()
    }

    /// The kind of value, for error messages.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The value of an object's member; `nil` if there is none, or if this is not an object.
    public subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        let key = key.exact
        return members.first { $0.has(key) }?.value
    }

    /// The text of a string; `nil` for any other value.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// A boolean; `nil` for any other value.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// A number in its original notation; `nil` for any other value.
    public var number: JSONNumber? {
        if case .number(let number) = self { number } else { nil }
    }

    /// The elements of an array; `nil` for any other value.
    public var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }
}

extension [JSONValue.Member] {
    /// The values by key, for many lookups. A single lookup with ``JSONValue/subscript(_:)`` reads all members.
    package var byKey: [ExactString: JSONValue] {
        Dictionary(map { ($0.name, $0.value) }) { first, _ in first }
    }
}

extension JSONValue: Hashable {
    // Disfavored, because JSONValue accepts every kind of literal. Otherwise the compiler would also consider this
    // overload for comparisons of other types with a literal.
    @_disfavoredOverload
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): a.exact == b.exact
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .number(let number): hasher.combine(number)
        case .string(let text): hasher.combine(text.exact)
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members)
        }
    }
}

extension JSONValue {
    /// Returns an object with those members whose value is not `nil`.
    package static func members(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
        .object(members.compactMap { key, value in value.map { Member(key: key, value: $0) } })
    }

    package static func count(_ value: some BinaryInteger) -> JSONValue { .number(JSONNumber(value)) }
}

/// A JSON number in its original notation.
public struct JSONNumber: Hashable, Sendable {
    /// The text of the number, which matches the grammar of RFC 8259, section 6.
    public let text: String

    init(text: String) {
        self.text = text
    }

    /// Creates a number from a double, with the shortest text; `nil` if the double is not finite.
    init?(_ value: Double) {
        guard value.isFinite else { return nil }
        text = "\(value)"
    }

    /// Creates a number from an integer.
    public init(_ value: some BinaryInteger) {
        text = String(value)
    }

    /// The value if it is written as an integer and fits into 64 bits, otherwise `nil`. It is never rounded.
    public var int64: Int64? { Int64(text) }

    /// The value if it is written as an integer and fits into 64 bits, otherwise `nil`. It is never rounded.
    public var uint64: UInt64? { text == "-0" ? 0 : UInt64(text) }

    /// The nearest double; infinite if the number is out of range.
    public var double: Double { Double(text) ?? .nan }

    /// The number in canonical JSON; `nil` if it is an integer that does not fit into 64 bits, or another number that
    /// does not fit into a double.
    package var canonical: String? {
        let isInteger = text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || ($0 &- 48) < 10 }
        // Any integer of up to 18 digits fits into 64 bits.
        if isInteger, text.utf8.count <= 18, text != "-0" { return text }
        return isInteger ? CanonicalNumber.integer(text) : CanonicalNumber.double(text)
    }
}

extension JSONNumber: CustomStringConvertible {
    public var description: String { text }
}

/// The canonical forms of numbers that cannot be copied unchanged.
enum CanonicalNumber {
    /// Returns an integer in -2^63…2^64-1, with `-0` as `0`; `nil` outside this range.
    static func integer(_ text: String) -> String? {
        if text.hasPrefix("-") { return Int64(text).map { String($0) } }
        return UInt64(text).map { String($0) }
    }

    /// Returns the shortest digits that give the same double, as `d.dddE±n`; `nil` if a double cannot represent the
    /// number.
    static func double(_ text: String) -> String? {
        guard let value = Double(text), value.isFinite else { return nil }
        let sign = value.sign == .minus ? "-" : ""
        if value == 0 { return sign + "0E0" }
        // The standard library also prints the shortest digits, but may put the decimal point in another position.
        let parts = value.magnitude.description.split(separator: "e")
        let mantissa = parts[0].split(separator: ".")
        let whole = mantissa[0] == "0" ? "" : String(mantissa[0])
        let fraction = mantissa.count > 1 && mantissa[1] != "0" ? String(mantissa[1]) : ""
        var digits = Substring(whole + fraction)
        var exponent = (parts.count > 1 ? Int(parts[1]) ?? 0 : 0) + whole.count - 1
        while digits.first == "0" {
            digits.removeFirst()
            exponent -= 1
        }
        while digits.last == "0" { digits.removeLast() }
        let head = digits.prefix(1)
        let rest = digits.dropFirst()
        return sign + head + (rest.isEmpty ? "" : ".") + rest + "E\(exponent)"
    }
}
