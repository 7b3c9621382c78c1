/// Why a JSON document was refused, and where.
package struct JSONError: Error, Hashable, Sendable {
    /// The reason for the refusal. Its description is a sentence for people.
    package enum Reason: Hashable, Sendable {
        /// The document ends within a value.
        case unexpectedEnd
        /// A byte that is not allowed here. `expected` describes what is.
        case unexpectedByte(UInt8, expected: String)
        /// A string or key that is not UTF-8 (RFC 8259, section 8.1).
        case invalidUTF8
        /// Half of a surrogate pair, written as `\uD800`…`\uDFFF`, without the other half. It encodes no character.
        case loneSurrogate
        /// A character below U+0020 that is not escaped in a string (RFC 8259, section 7).
        case controlCharacter(UInt8)
        /// A backslash before a character that RFC 8259, section 7, does not list.
        case invalidEscape
        /// A number that does not match the grammar of RFC 8259, section 6.
        case invalidNumber
        /// An integer outside -2^63…2^64-1, or a number that a double cannot hold. Canonical JSON cannot express it.
        case numberOutOfRange(String)
        /// A key that appears twice in one object.
        case duplicateKey(String)
        /// A key that the object must have.
        case missingKey(String)
        /// A key that the object must not have.
        case unknownKey(String)
        /// A value whose type is not `expected`.
        case wrongType(expected: String, found: String)
        /// Arrays and objects are nested deeper than `limit`.
        case tooDeep(limit: Int)
        /// The text has more bytes than ``Limits`` allows.
        case tooLong(limit: Int)
        /// An object has more members than ``Limits/jsonMembers``.
        case tooManyMembers(limit: Int)
        /// There are more values than ``Limits/jsonValues``.
        case tooManyValues(limit: Int)
        /// There is more than white space after the document's value.
        case trailingData
    }

    /// Why the document was refused.
    package let reason: Reason
    /// The position of the fault, in bytes from the document's start.
    package let offset: Int

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - reason: why the document was refused.
    ///   - offset: the position of the fault, in bytes from the document's start.
    package init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The line of the fault, counted from 1.
    package func line(in document: Bytes) -> Int {
        document.withSpan { $0.line(at: offset) }
    }
}

extension JSONError: CustomStringConvertible {
    package var description: String { "\(reason) at byte \(offset)" }
}

extension JSONError.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unexpectedEnd: "the JSON document ends too early"
        case .unexpectedByte(let byte, let expected): "\(Self.shown(byte)) where \(expected) is expected"
        case .invalidUTF8: "the text is not UTF-8"
        case .loneSurrogate: "half of a surrogate pair without the other half"
        case .controlCharacter(let byte): "the control character \(Self.shown(byte)) must be escaped in a string"
        case .invalidEscape: "unknown escape in a string"
        case .invalidNumber: "not a JSON number (RFC 8259, section 6)"
        case .numberOutOfRange(let text):
            "the number \(text.prefix(40)) is out of range: integers go from -2^63 to 2^64-1, others must fit a double"
        case .duplicateKey(let key): "the key \(VisibleText.quote(key)) appears twice in one object"
        case .missingKey(let key): "the key \(VisibleText.quote(key)) is missing"
        case .unknownKey(let key): "unknown key \(VisibleText.quote(key))"
        case .wrongType(let expected, let found): "\(VisibleText.excerpt(found)) where \(expected) is expected"
        case .tooDeep(let limit): "arrays and objects are nested more than \(limit) deep"
        case .tooLong(let limit): "more than \(limit) bytes"
        case .tooManyMembers(let limit): "more than \(limit) members in one object (Limits.jsonMembers)"
        case .tooManyValues(let limit): "more than \(limit) values (Limits.jsonValues)"
        case .trailingData: "there is text after the end of the document"
        }
    }

    private static func shown(_ byte: UInt8) -> String {
        if byte > 0x20 && byte < 0x7F { return "'\(Character(UnicodeScalar(byte)))'" }
        let hex = String(byte, radix: 16, uppercase: true)
        return "byte 0x\(hex.count < 2 ? "0" : "")\(hex)"
    }
}
