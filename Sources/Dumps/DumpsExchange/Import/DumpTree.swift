import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The tree of Firefox or application-services: `<bucket>/<collection>.json`, and attachments.
struct DumpTree {
    enum Project {
        case firefox
        case applicationServices
    }

    let root: String
    let project: Project

    /// Reads the collections of the tree. An error in one does not affect the others.
    ///
    /// - Parameter names: the collections to read; an empty list means all.
    /// - Throws: `Failure`, or ``Failure`` if the tree contains no collection.
    func collections(_ names: [CollectionID]) throws -> [(CollectionID, Result<ImportedCollection, any Error>)] {
        let found = try Self.collections(in: root)
        guard !found.isEmpty else {
            throw Failure(
                .usage, file: root, found: "no BUCKET/COLLECTION.json files",
                remedy: "give the directory or archive that contains them")
        }
        return found.filter { names.isEmpty || names.contains($0) }.sorted().map { id in
            (id, Result { try collection(id) })
        }
    }

    /// Returns the collections with a file `<bucket>/<collection>.json` in a folder.
    static func collections(in root: String) throws(Failure) -> [CollectionID] {
        var found: [CollectionID] = []
        for bucket in try FileStore.list(root) ?? [] where try FileStore.isDirectory("\(root)/\(bucket)") {
            for file in try FileStore.list("\(root)/\(bucket)") ?? [] where file.hasSuffix(".json") {
                if let id = try? CollectionID(bucket: bucket, name: String(file.dropLast(5))) { found.append(id) }
            }
        }
        return found
    }

    private func collection(_ id: CollectionID) throws -> ImportedCollection {
        let style = project == .firefox ? DumpStyle.firefox(id) : .applicationServices
        var collection = try document("\(root)/\(id.bucket)/\(id.name).json", of: id, style: style)
        try checkTimestamp(collection.unverified)
        let folder =
            project == .firefox ? "\(id.bucket)/\(id.name)" : "\(id.bucket)/attachments/\(id.name)"
        let files = AttachmentFolder(root: root, folder: folder)
        try files.gather(into: &collection)
        return collection
    }

    /// Reads `{"data": [record…], "timestamp": N}`. Such a file contains no metadata, so metadata with the collection's
    /// name is generated.
    ///
    /// - Parameter style: the style of the project's files. If this file's style differs, the metadata records it, so
    ///   that an export can reproduce the file.
    /// - Throws: ``Failure``.
    private func document(_ path: String, of id: CollectionID, style: DumpStyle) throws -> ImportedCollection {
        let text = try ImportedCollection.text(path)
        do {
            var reader = JSONReader(text)
            var data: Bytes?
            var timestamp: UInt64?
            try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "data": data = try reader.skipValue()
                case "timestamp": timestamp = try reader.unsignedInteger()
                default: _ = try reader.skipValue()
                }
            }
            try reader.finish()
            guard let data else { throw Failure(.missingKey("data"), at: 0) }
            guard let timestamp else { throw Failure(.missingKey("timestamp"), at: 0) }
            let metadata = JSONText.compact(DumpMetadata.make(id, DumpStyle.seen(in: text, of: style)))
            var changeset = Array("{\"metadata\":".utf8) + metadata
            changeset += Array(",\"timestamp\":\(timestamp),\"changes\":".utf8) + data.array + [UInt8(ascii: "}")]
            return try ImportedCollection(id, changeset: Changeset(parsing: Bytes(changeset)))
        } catch let error as Failure {
            throw Failure(
                .usage, file: path,
                found: "not the records of a collection, {\"data\": […], \"timestamp\": …}: \(error)",
                remedy: "copy the file from its project again")
        }
    }

    /// Checks that the `.timestamp` file of application-services contains the timestamp in the `.json` file.
    private func checkTimestamp(_ unverified: UnverifiedSnapshot) throws {
        let id = unverified.collection
        let path = "\(root)/\(id.bucket)/\(id.name).timestamp"
        guard project == .applicationServices, let bytes = try FileStore.read(path, limit: 64) else { return }
        let text = bytes.text.filter { !$0.isWhitespace }
        guard Timestamp(text) == unverified.timestamp else {
            throw Failure(
                .usage, file: path, expected: "\(unverified.timestamp), as in \(id.name).json",
                found: VisibleText.quote(text), remedy: "correct one of the two files")
        }
    }
}
