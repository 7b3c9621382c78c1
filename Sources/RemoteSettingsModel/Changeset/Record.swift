/// A record: its canonical JSON as a slice of what it came in, in which its id lies too.
package struct Record: Sendable, Identifiable {
    /// The record, with its id in front of it where that was given apart.
    private let text: Bytes
    private let idStart: Int
    private let idCount: Int
    private let jsonStart: Int

    /// The record's id. Every call makes the text anew: a first read of thousands of records makes none that nobody asks for.
    package var id: String { text[idStart..<idStart + idCount].text }

    /// The whole record as canonical JSON.
    package var json: Bytes { jsonStart == 0 ? text : text[jsonStart..<text.count] }

    package init(id: String, json: Bytes) {
        var whole = Array(id.utf8)
        (idStart, idCount, jsonStart) = (0, whole.count, whole.count)
        unsafe json.withUnsafeBytes { unsafe whole.append(contentsOf: $0) }
        text = Bytes(whole)
    }

    /// - Parameter id: where in `json` the id is, without its quotes.
    init(json: Bytes, id: Range<Int>) {
        text = json
        (idStart, idCount, jsonStart) = (id.lowerBound, id.count, 0)
    }

    /// The value of one field, read on demand; `nil` where the record has no such field. Reads no other field's value.
    package func field(_ name: String) -> JSONValue? {
        var reader = JSONReader(json, limits: Limits())
        do throws(JSONError) {
            try reader.beginObject()
            return try reader.seekMember(name) ? try reader.value() : nil
        } catch {
            return nil
        }
    }

    /// When the record last changed; `nil` where it does not say.
    package var lastModified: Timestamp? {
        (field("last_modified")?.number?.uint64).map(Timestamp.init(milliseconds:))
    }

    /// The record's attachment; `nil` where it has none.
    ///
    /// - Throws: ``ChangesetError/invalidAttachment(record:problem:)`` where it does not describe one fully.
    package func attachment() throws(ChangesetError) -> RecordAttachment? {
        guard let value = field("attachment"), value != .null else { return nil }
        return try RecordAttachment(value, record: id)
    }
}

/// Records are equal where their ids and their bytes are.
extension Record: Hashable {
    package static func == (left: Record, right: Record) -> Bool {
        left.json == right.json
            && left.text[left.idStart..<left.idStart + left.idCount]
                == right.text[right.idStart..<right.idStart + right.idCount]
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(json) }
}
