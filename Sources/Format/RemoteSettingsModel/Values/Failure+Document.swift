// MARK: JSON
extension Failure {
    /// The document is truncated inside a value.
    package static let unexpectedEnd = Self(.malformed, "the JSON document ends too early")

    /// A byte is not allowed in its position. `expected` describes the allowed ones.
    static func unexpectedByte(_ byte: UInt8, expected: String) -> Self {
        Self(.malformed, "\(shown(byte)) where \(expected) is expected")
    }

    /// A string or key is not UTF-8 (RFC 8259, section 8.1).
    static let invalidUTF8 = Self(.malformed, "the text is not UTF-8")

    /// An escape from `\uD800` to `\uDFFF` is half of a surrogate pair without the other half.
    static let loneSurrogate = Self(.malformed, "unpaired surrogate (\\uD800 to \\uDFFF) in a string")

    /// A character below U+0020 is not escaped in a string (RFC 8259, section 7).
    static func controlCharacter(_ byte: UInt8) -> Self {
        Self(.malformed, "the control character \(shown(byte)) must be escaped in a string")
    }

    /// A backslash precedes a character that cannot be escaped (RFC 8259, section 7).
    static let invalidEscape = Self(.malformed, "unknown escape in a string")

    /// A number does not match the grammar of RFC 8259, section 6.
    static let invalidNumber = Self(.malformed, "not a JSON number (RFC 8259, section 6)")

    /// Canonical JSON cannot express a number: an integer is outside -2^63…2^64-1, or a double cannot represent it.
    package static func numberOutOfRange(_ text: String) -> Self {
        Self(
            .overLimit,
            "the number \(text.prefix(40)) is out of range: integers must be from -2^63 to 2^64-1, other numbers "
                + "must fit a double"
        )
    }

    /// A key appears twice in one object.
    static func duplicateKey(_ key: String) -> Self {
        Self(.malformed, "the key \(VisibleText.quote(key)) appears twice in one object")
    }

    /// An object lacks a required key.
    package static func missingKey(_ key: String) -> Self {
        Self(.malformed, "the key \(VisibleText.quote(key)) is missing")
    }

    /// The type of a value is not `expected`.
    package static func wrongType(expected: String, found: String) -> Self {
        Self(
            .malformed, "\(VisibleText.excerpt(found)) where \(expected) is expected",
            cause: .mismatch(expected: expected, found: found))
    }

    /// Arrays and objects are nested deeper than `limit`.
    package static func tooDeep(limit: Int) -> Self {
        Self(.overLimit, "arrays and objects are nested more than \(limit) deep")
    }

    /// The text has more bytes than ``Limits`` allows.
    package static func tooLong(limit: Int) -> Self { Self(.overLimit, "a value of more than \(limit) bytes") }

    /// An object has more members than ``Limits/jsonMembers``.
    static func tooManyMembers(limit: Int) -> Self {
        Self(.overLimit, "more than \(limit) members in one object (Limits.jsonMembers)")
    }

    /// There are more values than ``Limits/jsonValues``.
    static func tooManyValues(limit: Int) -> Self {
        Self(.overLimit, "more than \(limit) values (Limits.jsonValues)")
    }

    /// The document's value is followed by something other than white space.
    static let trailingData = Self(.malformed, "there is text after the end of the document")

    private static func shown(_ byte: UInt8) -> String {
        if byte > 0x20 && byte < 0x7F { return "'\(Character(UnicodeScalar(byte)))'" }
        let hex = String(byte, radix: 16, uppercase: true)
        return "byte 0x\(hex.count < 2 ? "0" : "")\(hex)"
    }

    // MARK: Changesets and payloads. Their JSON is valid, but violates the rules of the server's API.
    /// The collection's metadata in this member is damaged. The position in `error` is relative to the metadata.
    static func metadata(_ error: Failure, member: String) -> Self {
        Self(error.code, "the collection's \(member) is damaged: in its text, \(error)")
    }

    package static func missing(_ key: String) -> Self {
        Self(.content, "the changeset has no valid \(VisibleText.quote(key))")
    }

    static func recordWithoutID(offset: Int) -> Self {
        Self(.content, "the record at byte \(offset) has no string \"id\"")
    }

    static func invalidRecordID(_ id: String) -> Self {
        Self(.content, "invalid record id \(VisibleText.quote(id)); a valid id is \(Identifier.rule)")
    }

    static func duplicateRecord(_ id: String) -> Self {
        Self(.content, "more than one record has the id \(VisibleText.quote(id))")
    }

    package static func tooManyRecords(limit: Int) -> Self {
        Self(.overLimit, "more than \(limit) records (Limits.records)")
    }

    /// A record has more than `limit` of `what` (bytes or members, for example). The record begins at the byte
    /// `offset`.
    static func recordTooLarge(offset: Int, what: String, limit: Int) -> Self {
        Self(
            .overLimit,
            "the record at byte \(offset) has more than \(limit) \(what); ask the collection's owner to split it, or "
                + "to move its content into an attachment")
    }

    package static func invalidAttachment(record: String, problem: String) -> Self {
        Self(.content, "record \(VisibleText.quote(record)) has an invalid attachment: \(VisibleText.excerpt(problem))")
    }

    /// The metadata belongs to a collection other than the requested one.
    static func otherCollection(expected: CollectionID, found: String) -> Self {
        Self(
            .content,
            "the metadata is for the wrong collection: expected \(expected), found \(VisibleText.excerpt(found))")
    }

    /// A mirror's own metadata and the metadata that it received differ in a member other than `x5u`.
    static let otherMirroredMetadata = Self(
        .content, "a mirror may change only x5u in the metadata it received, but other members differ too")

    /// The records are not sorted by id, or the text around them is not that of a signed payload.
    static func notCanonical(problem: String) -> Self {
        Self(.malformed, "the payload is not canonical JSON: \(problem)")
    }

    // MARK: Names, base64, and compressed streams
    /// A name violates a rule.
    ///
    /// - Parameter what: the kind of name, such as `bucket id`.
    package static func invalidName(_ what: String, found: String, expected: String) -> Self {
        Self(
            .invalidName, "invalid \(what) \(VisibleText.quote(found)): expected \(expected)",
            cause: .mismatch(expected: expected, found: found))
    }

    package static func base64(_ problem: String) -> Self { Self(.malformed, problem) }

    /// A deflate or gzip stream is damaged. This description and the next ones are fragments that follow "found".
    static let corruptStream = Self(.damaged, "a corrupt stream")
    /// The stream contains more bytes than expected.
    static let streamTooLong = Self(.damaged, "more")
    /// The stream contains fewer bytes than expected.
    package static let streamTooShort = Self(.damaged, "less")
    /// There are bytes after the end of the stream.
    package static let trailingBytes = Self(.damaged, "bytes after the end of the stream")
    static let outOfMemory = Self(.overLimit, "not enough memory to inflate it")
}
