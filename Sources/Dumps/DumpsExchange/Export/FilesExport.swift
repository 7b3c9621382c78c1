import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// Plain files, as the script of firefox-ios fetches them: each collection's records in `<name>.json`, a list, and its
/// attachments in `attachments/<name>/<file>.<ending>`.
///
/// The list has the form of Python's `json.dump(records, indent=4)`, in the server's order.
enum FilesExport {
    private static let style = DumpStyle(keys: .served, records: .newestFirst, indent: 4, endsWithNewline: false)

    /// - Parameter nameField: the record's field that names an attachment's file; `nil` for the attachment's file name.
    /// - Throws: ``DumpsError`` if two collections or two attachments have one file name, or if a name is not safe.
    static func write(
        _ collection: ExportedCollection, into directory: ExportDirectory, nameField: String?
    ) throws {
        let id = collection.id
        let list = "\(id.name).json"
        guard try !directory.contains(list) else {
            throw DumpsError(
                .usage, list, found: "the collections of two buckets would share this file; one of them is \(id)",
                remedy: "export each bucket to a separate directory")
        }
        try directory.write(collection.list(style), to: list)
        directory.own("attachments/\(id.name)")
        var taken: [ExactString: String] = [:]
        for (entry, attachment) in collection.attached {
            let file = try fileName(entry, attachment, of: id, nameField: nameField)
            // Names that differ in their case only are one file on most Macs.
            if let other = taken.updateValue(entry.id, forKey: file.lowercased().exact) {
                throw DumpsError(
                    .usage, "\(id)",
                    found: "the attachments of the records \(other) and \(entry.id) have the same file name, "
                        + VisibleText.quote(file),
                    remedy: "choose a different field with --key")
            }
            _ = try collection.put(attachment, as: "attachments/\(id.name)/\(file)", into: directory)
        }
    }

    private static func fileName(
        _ entry: ExportedCollection.Entry, _ attachment: RecordAttachment, of id: CollectionID, nameField: String?
    ) throws(DumpsError) -> String {
        var name = attachment.filename
        if let nameField {
            guard let field = entry.record[nameField]?.string else {
                throw DumpsError(
                    .usage, "\(id)", entry: "record \(entry.id)",
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
            throw DumpsError(
                .usage, "\(id)", entry: "record \(entry.id)",
                found: "\(VisibleText.quote(name)) is not a valid file name for its attachment",
                remedy: nameField == nil ? "choose a field with --key" : "choose a different field with --key")
        }
        return name
    }
}
