import RemoteSettingsModel
import SnapshotBundle

/// A collection as its source files have it: checked, without timestamps and signatures.
package struct CollectionSource: Sendable {
    package let id: CollectionID
    /// Sorted by id; no two have the same.
    package let records: [SourceRecord]
    /// The files that records name, by their hash.
    package let attachments: [SHA256Digest: AttachmentInput]
    /// Members of the collection's metadata, without those that publishing sets.
    package let metadata: [JSONValue.Member]
    /// What may be a mistake, a line each, with file and line.
    package let notes: [String]

    package init(
        id: CollectionID, records: [SourceRecord], attachments: [SHA256Digest: AttachmentInput],
        metadata: [JSONValue.Member], notes: [String]
    ) {
        self.id = id
        self.records = records
        self.attachments = attachments
        self.metadata = metadata
        self.notes = notes
    }
}

/// A record of a source.
package struct SourceRecord: Sendable {
    package let id: String
    /// All members, the id among them, as JSON text without braces; no `last_modified`.
    package let members: Bytes
    package let file: String
    package let line: Int

    package init(id: String, members: Bytes, file: String, line: Int) {
        self.id = id
        self.members = members
        self.file = file
        self.line = line
    }
}
