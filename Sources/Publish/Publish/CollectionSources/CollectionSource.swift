import RemoteSettingsModel
import SnapshotBundle

/// A collection that was read from its source files and validated. It has no timestamps or signatures.
package struct CollectionSource: Sendable {
    package let id: CollectionID
    /// The records, sorted by id. The ids are unique.
    package let records: [SourceRecord]
    /// The files that the records reference, by hash.
    package let attachments: [SHA256Digest: AttachmentInput]
    /// The members of the collection's metadata, except those that publishing sets.
    package let metadata: [JSONValue.Member]
    /// Notes for the author, such as possible mistakes with their file and line, one line each.
    package let notes: [String]
    /// The paths of the files from which the collection was read, including its attachments.
    package var files: Set<ExactString> = []

    package var recordCount: Int { records.count }
}

/// A record from a source file.
package struct SourceRecord: Sendable {
    package let id: String
    /// All members as JSON text without braces, with the id but without `last_modified`.
    package let members: Bytes
    package let file: String
    package let line: Int
}
