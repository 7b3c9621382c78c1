import RemoteSettingsModel

/// Firefox's `defaults/settings`: for each collection `<bucket>/<name>.json`, for each attachment
/// `<bucket>/<name>/<file>` and `.meta.json`, and one `last_modified.json` for all.
enum FirefoxExport {
    static func write(_ collection: LaidOutCollection, into directory: ExportDirectory) throws {
        let id = collection.id
        try directory.write(collection.text(.firefox(id)), to: "\(id.bucket)/\(id.name).json")
        var taken: Set<String> = []
        for (entry, attachment) in collection.packaged.sorted(by: { $0.entry.lastModified > $1.entry.lastModified }) {
            var file = fileName(id, entry)
            if !taken.insert(file).inserted { file = entry.id }
            let name = "\(id.bucket)/\(id.name)/\(file)"
            try directory.write(to: name) { write in
                _ = try collection.bundle.streamAttachment(attachment.hash, to: write)
            }
            try directory.write(
                DumpText.record(entry.record, keys: .served, indent: nil), to: "\(name).meta.json")
        }
    }

    /// The time of every collection, as Python's `json.dumps` writes it.
    static func writeTimes(_ collections: [(CollectionID, Timestamp)], into directory: ExportDirectory) throws {
        let lines = collections.sorted { $0.0.description < $1.0.description }.map { "\"\($0)\": \($1)" }
        try directory.write(Array("{\(lines.joined(separator: ", "))}".utf8), to: "last_modified.json")
    }

    /// The name by which Firefox looks for an attachment: its record's id, unless its code says another one.
    private static func fileName(_ id: CollectionID, _ entry: LaidOutCollection.Entry) -> String {
        guard id.description == "blocklists/addons-bloomfilters" else { return entry.id }
        switch entry.record["attachment_type"]?.string {
        case "bloomfilter-base": return "addons-mlbf.bin"
        case "softblocks-bloomfilter-base": return "softblocks-addons-mlbf.bin"
        default: return entry.id
        }
    }
}
