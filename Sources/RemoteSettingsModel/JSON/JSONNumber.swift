/// A JSON number exactly as it was written.
public struct JSONNumber: Hashable, Sendable {
    /// The number's text, by the grammar of RFC 8259, section 6.
    public let text: String

    init(text: String) {
        self.text = text
    }

    public init(_ value: some BinaryInteger) {
        text = String(value)
    }

    /// The value where it is written as an integer and fits; never rounded.
    public var int64: Int64? { Int64(text) }

    /// The value where it is written as an integer and fits; never rounded.
    public var uint64: UInt64? { text == "-0" ? 0 : UInt64(text) }

    /// The nearest double; infinite where the number is beyond its range.
    public var double: Double { Double(text) ?? .nan }
}

extension JSONNumber: CustomStringConvertible {
    public var description: String { text }
}
