/// Why a text, a document or a compressed stream is not in its format.
package struct FormatError: CodedError {
    /// What is wrong: a code for programs, and a sentence for people.
    package let reason: Reason
    /// The position of the fault, in bytes from the document's start; `nil` if the fault has no single place.
    package let offset: Int?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - reason: what is wrong.
    ///   - offset: the position of the fault, in bytes from the document's start.
    package init(_ reason: Reason, at offset: Int? = nil) {
        self.reason = reason
        self.offset = offset
    }

    package struct Reason: Hashable, Sendable, CustomStringConvertible {
        let code: FailureCode
        package let description: String
        /// The type or rule that the text breaks; `nil` if the sentence is not about one.
        package let expected: String?
        /// What is there in its place.
        package let found: String?

        package init(_ code: FailureCode, _ description: String, expected: String? = nil, found: String? = nil) {
            self.code = code
            self.description = description
            self.expected = expected
            self.found = found
        }
    }

    package var code: FailureCode { reason.code }

    /// The line of the fault, counted from 1.
    package func line(in document: Bytes) -> Int {
        document.withSpan { $0.line(at: offset ?? 0) }
    }
}

extension FormatError: CustomStringConvertible {
    package var description: String { offset.map { "\(reason) at byte \($0)" } ?? "\(reason)" }
}

// JSON.
extension FormatError.Reason {
    /// The document ends within a value.
    package static let unexpectedEnd = Self(.malformed, "the JSON document ends too early")

    /// A byte that is not allowed here. `expected` describes what is.
    static func unexpectedByte(_ byte: UInt8, expected: String) -> Self {
        Self(.malformed, "\(shown(byte)) where \(expected) is expected")
    }

    /// A string or key that is not UTF-8 (RFC 8259, section 8.1).
    static let invalidUTF8 = Self(.malformed, "the text is not UTF-8")

    /// Half of a surrogate pair, written as `\uD800`…`\uDFFF`, without the other half. It encodes no character.
    static let loneSurrogate = Self(.malformed, "unpaired surrogate (\\uD800 to \\uDFFF) in a string")

    /// A character below U+0020 that is not escaped in a string (RFC 8259, section 7).
    static func controlCharacter(_ byte: UInt8) -> Self {
        Self(.malformed, "the control character \(shown(byte)) must be escaped in a string")
    }

    /// A backslash before a character that RFC 8259, section 7, does not list.
    static let invalidEscape = Self(.malformed, "unknown escape in a string")

    /// A number that does not match the grammar of RFC 8259, section 6.
    static let invalidNumber = Self(.malformed, "not a JSON number (RFC 8259, section 6)")

    /// An integer outside -2^63…2^64-1, or a number that a double cannot hold. Canonical JSON cannot express it.
    package static func numberOutOfRange(_ text: String) -> Self {
        Self(
            .overLimit,
            "the number \(text.prefix(40)) is out of range: integers must be from -2^63 to 2^64-1, other numbers "
                + "must fit a double"
        )
    }

    /// A key that appears twice in one object.
    static func duplicateKey(_ key: String) -> Self {
        Self(.malformed, "the key \(VisibleText.quote(key)) appears twice in one object")
    }

    /// A key that the object must have.
    package static func missingKey(_ key: String) -> Self {
        Self(.malformed, "the key \(VisibleText.quote(key)) is missing")
    }

    /// A key that the object must not have.
    static func unknownKey(_ key: String) -> Self { Self(.malformed, "unknown key \(VisibleText.quote(key))") }

    /// A value whose type is not `expected`.
    package static func wrongType(expected: String, found: String) -> Self {
        Self(
            .malformed, "\(VisibleText.excerpt(found)) where \(expected) is expected", expected: expected, found: found)
    }

    /// Arrays and objects are nested deeper than `limit`.
    package static func tooDeep(limit: Int) -> Self {
        Self(.overLimit, "arrays and objects are nested more than \(limit) deep")
    }

    /// The text has more bytes than ``Limits`` allows.
    package static func tooLong(limit: Int) -> Self { Self(.overLimit, "more than \(limit) bytes") }

    /// An object has more members than ``Limits/jsonMembers``.
    static func tooManyMembers(limit: Int) -> Self {
        Self(.overLimit, "more than \(limit) members in one object (Limits.jsonMembers)")
    }

    /// There are more values than ``Limits/jsonValues``.
    static func tooManyValues(limit: Int) -> Self {
        Self(.overLimit, "more than \(limit) values (Limits.jsonValues)")
    }

    /// There is more than white space after the document's value.
    static let trailingData = Self(.malformed, "there is text after the end of the document")

    private static func shown(_ byte: UInt8) -> String {
        if byte > 0x20 && byte < 0x7F { return "'\(Character(UnicodeScalar(byte)))'" }
        let hex = String(byte, radix: 16, uppercase: true)
        return "byte 0x\(hex.count < 2 ? "0" : "")\(hex)"
    }
}

// Changesets and payloads. Their JSON can be read, but it is not what the server's API promises.
extension FormatError {
    private init(_ code: FailureCode, _ sentence: String) { self.init(Reason(code, sentence)) }

    private init(_ sentence: String) { self.init(.content, sentence) }

    /// The collection's metadata, in this member, is damaged. The error's position counts from the metadata's start.
    static func metadata(_ error: FormatError, member: String) -> Self {
        Self(error.code, "the collection's \(member) is damaged: in its text, \(error)")
    }

    package static func missing(_ key: String) -> Self {
        Self("the changeset has no valid \(VisibleText.quote(key))")
    }

    static func recordWithoutID(offset: Int) -> Self {
        Self("the record at byte \(offset) has no string \"id\"")
    }

    static func invalidRecordID(_ id: String) -> Self {
        Self("invalid record id \(VisibleText.quote(id)); a valid id is \(Identifier.rule)")
    }

    static func duplicateRecord(_ id: String) -> Self {
        Self("more than one record has the id \(VisibleText.quote(id))")
    }

    static func tooManyRecords(limit: Int) -> Self {
        Self(.overLimit, "more than \(limit) records (Limits.records)")
    }

    /// A record has more than `limit` of `what`. It begins at the byte `offset`.
    static func recordTooLarge(offset: Int, what: String, limit: Int) -> Self {
        Self(
            .overLimit,
            "the record at byte \(offset) has more than \(limit) \(what); ask the collection's owner to split it, or "
                + "to move its content into an attachment")
    }

    package static func invalidAttachment(record: String, problem: String) -> Self {
        Self("record \(VisibleText.quote(record)) has an invalid attachment: \(VisibleText.excerpt(problem))")
    }

    /// The metadata names another collection than the request did.
    static func otherCollection(expected: CollectionID, found: String) -> Self {
        Self("the metadata is for the wrong collection: expected \(expected), found \(VisibleText.excerpt(found))")
    }

    /// A mirror's own metadata and the metadata that it received differ in more than the URLs of chains.
    static let otherMirroredMetadata = Self(
        "a mirror may change only x5u in the metadata it received, but other members differ too")

    /// The records are not in the order of their ids, or the text around them is not that of a signed payload.
    static func notCanonical(problem: String) -> Self {
        Self(.malformed, "the payload is not canonical JSON: \(problem)")
    }
}

// Names, base64, and compressed streams.
extension FormatError {
    /// A name that breaks a rule.
    ///
    /// - Parameter what: what is named, such as `bucket id`.
    package static func invalidName(_ what: String, found: String, expected: String) -> Self {
        Self(
            Reason(
                .invalidName, "invalid \(what) \(VisibleText.quote(found)): expected \(expected)", expected: expected,
                found: found))
    }

    package static func base64(_ problem: String) -> Self { Self(.malformed, problem) }

    /// A deflate or gzip stream is damaged. The sentences follow "found".
    static let corruptStream = Self(.damaged, "a corrupt stream")
    /// The stream holds more than it should.
    static let streamTooLong = Self(.damaged, "more")
    /// The stream ends before it should.
    package static let streamTooShort = Self(.damaged, "less")
    /// There are bytes after the end of the stream.
    package static let trailingBytes = Self(.damaged, "bytes after the end of the stream")
    static let outOfMemory = Self(.overLimit, "not enough memory to inflate it")
}
