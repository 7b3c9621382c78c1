/// A record: its id, and its canonical JSON, which is a slice of a larger buffer.
package struct Record: Sendable, Identifiable {
    /// The record's JSON, preceded by its id if the id was given separately.
    private let text: Bytes
    private let idStart: Int
    private let idCount: Int
    private let jsonStart: Int
    /// Whether the record may have an attachment. If not, which is the usual case, the record is not searched for one.
    private let mayHaveAttachment: Bool

    /// The record's id. Each access creates the string, because there may be thousands of records, and most are read
    /// without using their ids.
    package var id: String { text[idStart..<idStart + idCount].text }

    /// The whole record as canonical JSON.
    package var json: Bytes { jsonStart == 0 ? text : text[jsonStart..<text.count] }

    package init(id: String, json: Bytes) {
        var whole = Array(id.utf8)
        (idStart, idCount, jsonStart, mayHaveAttachment) = (0, whole.count, whole.count, true)
        whole.append(contentsOf: json)
        text = Bytes(whole)
    }

    /// Creates a record.
    ///
    /// - Parameter id: the position of the id in `json`, without its quotes.
    init(json: Bytes, id: Range<Int>, mayHaveAttachment: Bool) {
        text = json
        (idStart, idCount, jsonStart) = (id.lowerBound, id.count, 0)
        self.mayHaveAttachment = mayHaveAttachment
    }

    /// Returns the value of one field, parsed on demand; `nil` if the record does not have it. Other fields are
    /// skipped.
    package func field(_ name: String) -> JSONValue? {
        var reader = JSONReader(json)
        do throws(Failure) {
            try reader.beginObject()
            return try reader.seekMember(name) ? try reader.value() : nil
        } catch {
            return nil
        }
    }

    /// The time when the record last changed; `nil` if the record does not state it.
    package var lastModified: Timestamp? {
        (field("last_modified")?.number?.uint64).map(Timestamp.init(milliseconds:))
    }

    /// Returns the record's attachment; `nil` if it has none.
    ///
    /// - Throws: ``Failure/invalidAttachment(record:problem:)`` if the member is incomplete or invalid.
    package func attachment() throws(Failure) -> RecordAttachment? {
        guard mayHaveAttachment, let value = field("attachment"), value != .null else { return nil }
        return try RecordAttachment(value, record: id)
    }
}

/// Records are equal if their ids and their bytes are equal.
extension Record: Hashable {
    package static func == (left: Record, right: Record) -> Bool {
        left.json == right.json
            && left.text[left.idStart..<left.idStart + left.idCount]
                == right.text[right.idStart..<right.idStart + right.idCount]
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(json) }
}
