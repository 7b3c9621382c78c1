/// A record: its id, and its canonical JSON as a slice of what it came in.
package struct Record: Sendable, Hashable, Identifiable {
    package let id: String
    /// The whole record as canonical JSON.
    package let json: Bytes

    package init(id: String, json: Bytes) {
        self.id = id
        self.json = json
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
