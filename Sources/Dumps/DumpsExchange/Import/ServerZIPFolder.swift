import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The unpacked ZIP file of a server. For each record with an attachment, it contains the file `<record>`, and the
/// record itself as `<record>.meta.json`.
struct ServerZIPFolder {
    let root: String

    /// Returns the collection in the name of a ZIP file, `BUCKET--COLLECTION.zip`; `nil` for any other name.
    static func collection(_ path: String) -> CollectionID? {
        let file = path.split(separator: "/").last.map { String($0) } ?? path
        guard file.hasSuffix(".zip"), let dashes = file.firstRange(of: "--") else { return nil }
        return try? CollectionID(
            bucket: String(file[..<dashes.lowerBound]), name: String(file[dashes.upperBound...].dropLast(4)))
    }

    /// Returns the records in the ZIP file as a collection. It contains only records with attachments.
    ///
    /// The ZIP file has no timestamp, so the time of the newest record is used.
    func collection(_ id: CollectionID) throws -> ImportedCollection {
        var records: [Bytes] = []
        var newest: UInt64 = 0
        var left = Limits.changesetBytes
        for name in try FileStore.list(root) ?? [] where name.hasSuffix(".meta.json") {
            guard let text = try FileStore.read("\(root)/\(name)", limit: Limits.metadataBytes) else { continue }
            let value = try mapFailure(of: try JSONValue(parsing: text)) {
                Failure(.usage, file: root, entry: name, found: "not a record: \($0)", remedy: "fetch the zip again")
            }
            left -= text.count
            guard left >= 0 else {
                throw Failure(
                    .usage, file: root, entry: name,
                    found: "the records are over the limit of \(Limits.changesetBytes) bytes (Limits.changesetBytes)",
                    remedy: "fetch the collection from its server instead")
            }
            newest = max(newest, value["last_modified"]?.number?.uint64 ?? 0)
            records.append(text)
        }
        var changeset = Array("{\"metadata\":".utf8) + JSONText.compact(DumpMetadata.make(id, nil))
        changeset += Array(",\"timestamp\":\(newest),\"changes\":[".utf8)
        changeset += records.map(\.array).joined(separator: [UInt8(ascii: ",")]) + Array("]}".utf8)
        do throws(Failure) {
            var collection = try ImportedCollection(id, changeset: Changeset(parsing: Bytes(changeset)))
            collection.notes.append(
                "the zip contains only records with attachments; the newest of them sets the collection's timestamp"
            )
            return collection
        } catch {
            throw Failure(
                .usage, file: root, found: "the .meta.json files are not records: \(error)",
                remedy: "fetch the zip again")
        }
    }
}
