import RemoteSettingsModel
import SnapshotBundle

/// The contents of a bundle to export: its records as JSON values, and its attachments.
struct ExportedCollection {
    struct Entry {
        let record: JSONValue
        let id: String
        let attachment: RecordAttachment?
        let lastModified: UInt64
    }

    let id: CollectionID
    let timestamp: Timestamp
    /// The entries, sorted by id.
    let entries: [Entry]
    let bundle: BundleReader
    private let metadata: JSONValue

    /// Reads a bundle.
    ///
    /// - Throws: `Failure`; `Failure` if a record is not valid.
    init(_ bundle: BundleReader) throws {
        self.bundle = bundle
        id = bundle.head.collection
        timestamp = bundle.head.timestamp
        metadata = try JSONValue(parsing: bundle.metadataText())
        entries = try bundle.payload().records.map { record in
            let value = try JSONValue(parsing: record.json)
            return Entry(
                record: value, id: record.id, attachment: try record.attachment(),
                lastModified: value["last_modified"]?.number?.uint64 ?? 0)
        }
    }

    /// The entries that have attachments.
    var attached: [(entry: Entry, attachment: RecordAttachment)] {
        entries.compactMap { entry in entry.attachment.map { (entry, $0) } }
    }

    /// Writes an attachment from the bundle, or keeps it if the updated directory contains it.
    ///
    /// - Returns: whether the directory now contains it.
    func put(_ attachment: RecordAttachment, as name: String, into directory: ExportDirectory) throws -> Bool {
        guard bundle.contains(attachment.hash) else { return try directory.keep(name, attachment) }
        try directory.write(to: name) { write in _ = try bundle.streamAttachment(attachment.hash, to: write) }
        return true
    }

    /// Returns the content of the collection's file, in the style that an import recorded, or else in the project's.
    func text(_ project: DumpStyle) -> [UInt8] {
        let style = DumpMetadata.style(metadata, of: project)
        return DumpText.document(ordered(style.records).map(\.record), timestamp: timestamp, style: style)
    }

    /// Returns the records as an array, in the format of Python's `json.dump`.
    func list(_ style: DumpStyle) -> [UInt8] { DumpText.list(ordered(style.records).map(\.record), style: style) }

    private func ordered(_ order: DumpStyle.RecordOrder) -> [Entry] {
        switch order {
        case .byID: return entries
        case .newestFirst:
            // Records with the same time are sorted by id, so that the output depends only on the snapshot.
            return entries.sorted {
                $0.lastModified == $1.lastModified ? $0.id < $1.id : $0.lastModified > $1.lastModified
            }
        case .byTypeAndIdentifier:
            func keys(_ entry: Entry) -> (String, String, String) {
                (entry.record["recordType"]?.string ?? "", entry.record["identifier"]?.string ?? "", entry.id)
            }
            return entries.sorted { keys($0) < keys($1) }
        }
    }
}
