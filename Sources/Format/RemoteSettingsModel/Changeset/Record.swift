/// A record: its id, and its canonical JSON as a slice of the bytes that contained it.
package struct Record: Sendable, Identifiable {
    /// The record, preceded by its id if the id was given separately.
    private let text: Bytes
    private let idStart: Int
    private let idCount: Int
    private let jsonStart: Int
    /// Whether the record may have an attachment. Most records have none, and are not searched for one.
    private let mayHaveAttachment: Bool

    /// The record's id. Each call creates the string, so that reading thousands of records creates no strings that
    /// nobody needs.
    package var id: String { text[idStart..<idStart + idCount].text }

    /// The whole record as canonical JSON.
    package var json: Bytes { jsonStart == 0 ? text : text[jsonStart..<text.count] }

    package init(id: String, json: Bytes) {
        var whole = Array(id.utf8)
        (idStart, idCount, jsonStart, mayHaveAttachment) = (0, whole.count, whole.count, true)
        whole.append(contentsOf: json)
        text = Bytes(whole)
    }

    /// Makes a record.
    ///
    /// - Parameter id: the position of the id in `json`, without its quotes.
    init(json: Bytes, id: Range<Int>, mayHaveAttachment: Bool) {
        text = json
        (idStart, idCount, jsonStart) = (id.lowerBound, id.count, 0)
        self.mayHaveAttachment = mayHaveAttachment
    }

    /// The value of one field, read on demand; `nil` if the record does not have it. Other fields are skipped.
    package func field(_ name: String) -> JSONValue? {
        var reader = JSONReader(json, limits: Limits())
        do throws(FormatError) {
            try reader.beginObject()
            return try reader.seekMember(name) ? try reader.value() : nil
        } catch {
            return nil
        }
    }

    /// When the record last changed; `nil` if the record does not say.
    package var lastModified: Timestamp? {
        (field("last_modified")?.number?.uint64).map(Timestamp.init(milliseconds:))
    }

    /// The record's attachment; `nil` if it has none.
    ///
    /// - Throws: ``FormatError/invalidAttachment(record:problem:)`` if the record does not describe it fully.
    package func attachment() throws(FormatError) -> RecordAttachment? {
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
