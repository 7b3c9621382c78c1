import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// An export of plain files, with the same layout as the downloads by firefox-ios's script: each collection's records
/// in `<name>.json`, as an array, and its attachments in `attachments/<name>/<file>.<extension>`.
///
/// The array is formatted like Python's `json.dump(records, indent=4)`, in the server's order.
enum FilesExport {
    private static let style = DumpStyle(keys: .served, records: .newestFirst, indent: 4, endsWithNewline: false)

    /// Writes a collection.
    ///
    /// - Parameter nameField: the record's field with the name of the attachment's file; `nil` for the attachment's
    ///   file name.
    /// - Throws: ``Failure`` if two collections or two attachments have the same file name, or if a name is not
    ///   safe.
    static func write(_ collection: ExportedCollection, into directory: ExportDirectory, nameField: String?) throws {
        let id = collection.id
        let list = "\(id.name).json"
        guard try !directory.contains(list) else {
            throw Failure(
                .usage, file: list, found: "the collections of two buckets would share this file; one of them is \(id)",
                remedy: "export each bucket to a separate directory")
        }
        try directory.write(collection.list(style), to: list)
        directory.own("attachments/\(id.name)", hasSidecars: false)
        var taken: [ExactString: String] = [:]
        for (entry, attachment) in collection.attached {
            let file = try fileName(entry, attachment, of: id, nameField: nameField)
            // On most Macs, names that differ only in case refer to the same file.
            if let other = taken.updateValue(entry.id, forKey: file.lowercased().exact) {
                throw Failure(
                    .usage, file: "\(id)",
                    found: "the attachments of the records \(other) and \(entry.id) have the same file name, "
                        + VisibleText.quote(file),
                    remedy: "choose a different field with --key")
            }
            _ = try collection.put(attachment, as: "attachments/\(id.name)/\(file)", into: directory)
        }
    }

    private static func fileName(
        _ entry: ExportedCollection.Entry, _ attachment: RecordAttachment, of id: CollectionID, nameField: String?
    ) throws(Failure) -> String {
        var name = attachment.filename
        if let nameField {
            guard let field = entry.record[nameField]?.string else {
                throw Failure(
                    .usage, file: "\(id)", entry: "record \(entry.id)",
                    found: "the record has an attachment, but its field \(nameField) is not a string",
                    remedy: "choose a different field with --key")
            }
            let ending = attachment.filename.split(separator: ".", omittingEmptySubsequences: false).dropFirst().last
            name = ending.map { field.hasSuffix(".\($0)") ? field : "\(field).\($0)" } ?? field
        }
        let isSafe =
            !name.isEmpty && !name.hasPrefix(".") && name.utf8.count <= 200
            && name.unicodeScalars.allSatisfy {
                $0 != "/" && $0 != "\\" && $0 != ":" && $0.value >= 0x20 && $0.value != 0x7F
            }
        guard isSafe else {
            throw Failure(
                .usage, file: "\(id)", entry: "record \(entry.id)",
                found: "\(VisibleText.quote(name)) is not a valid file name for its attachment",
                remedy: nameField == nil ? "choose a field with --key" : "choose a different field with --key")
        }
        return name
    }
}
