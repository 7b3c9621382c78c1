import Dumps
import RemoteSettingsModel

/// An export in the layout of Firefox's `defaults/settings`.
///
/// Each collection has `<bucket>/<name>.json`. Each attachment has `<bucket>/<name>/<file>` and `.meta.json`. One
/// `last_modified.json` covers all collections.
enum FirefoxExport {
    static func write(_ collection: ExportedCollection, into directory: ExportDirectory) throws {
        let id = collection.id
        try directory.write(collection.text(.firefox(id)), to: "\(id.bucket)/\(id.name).json")
        directory.own("\(id.bucket)/\(id.name)")
        var taken: Set<ExactString> = []
        for (entry, attachment) in collection.attached.sorted(by: { $0.entry.lastModified > $1.entry.lastModified }) {
            let preferred = fileName(id, entry)
            let file = taken.contains(preferred.exact) ? entry.id : preferred
            let name = "\(id.bucket)/\(id.name)/\(file)"
            guard try collection.put(attachment, as: name, into: directory) else { continue }
            taken.insert(file.exact)
            try directory.write(DumpText.record(entry.record, keys: .sorted, indent: nil), to: "\(name).meta.json")
        }
    }

    /// Writes the time of every collection, in the format of Python's `json.dumps`.
    ///
    /// An update starts from the current list, which Firefox's build generates. That list has entries for collections
    /// without a file in the tree, and no entries for some collections with a file. An update preserves both: it keeps
    /// the entries of other collections, and adds an entry only for a collection that had no file. If the tree has no
    /// list, as in Firefox's sources, none is written.
    ///
    /// - Throws: ``Failure`` if the current list cannot be read, or `Failure`.
    static func writeTimes(
        _ collections: [(id: CollectionID, timestamp: Timestamp)], into directory: ExportDirectory
    ) throws {
        var times: [ExactString: String] = [:]
        if directory.isUpdate {
            guard let present = try directory.present(timesFile, limit: Limits.metadataBytes) else { return }
            times = try read(present, of: directory)
        }
        for (id, timestamp) in collections {
            guard try times["\(id)"] != nil || !directory.had("\(id.bucket)/\(id.name).json") else { continue }
            times["\(id)"] = "\(timestamp)"
        }
        let lines = times.sorted { $0.key < $1.key }
            .map { "\"\($0.key)\": \($0.value)" }
        try directory.write(Array("{\(lines.joined(separator: ", "))}".utf8), to: timesFile)
    }

    private static let timesFile = "last_modified.json"

    private static func read(_ text: Bytes, of directory: ExportDirectory) throws -> [ExactString: String] {
        func refused(_ found: String) -> Failure {
            Failure(
                .usage, file: directory.path, entry: timesFile,
                found: "expected a JSON object {\"BUCKET/COLLECTION\": TIMESTAMP, …}, found \(found)",
                remedy: "correct the file, or remove it")
        }
        let value = try mapFailure(of: try JSONValue(parsing: text)) { refused("invalid JSON: \($0)") }
        guard case .object(let members) = value else { throw refused("a different type") }
        var times: [ExactString: String] = [:]
        for member in members {
            guard let id = try? CollectionID(member.key), let number = member.value.number?.uint64 else {
                throw refused(VisibleText.quote(member.key))
            }
            times["\(id)"] = "\(number)"
        }
        return times
    }

    /// Returns the name under which Firefox looks for an attachment: its record's id, except for some names in
    /// Firefox's code.
    private static func fileName(_ id: CollectionID, _ entry: ExportedCollection.Entry) -> String {
        guard id.description == "blocklists/addons-bloomfilters" else { return entry.id }
        switch entry.record["attachment_type"]?.string {
        case "bloomfilter-base": return "addons-mlbf.bin"
        case "softblocks-bloomfilter-base": return "softblocks-addons-mlbf.bin"
        default: return entry.id
        }
    }
}
