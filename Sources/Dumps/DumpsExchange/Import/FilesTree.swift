import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// Plain files of collections: `<name>.json` with an array of records, and `attachments/<name>/` with files of any
/// names.
struct FilesTree {
    let root: String
    /// The collection of a tree with a single array; `nil` if each file is named after a collection in `main`.
    let collection: CollectionID?

    /// Reads the collections of the tree. An error in one does not affect the others.
    ///
    /// - Parameter names: the collections to read; an empty list means all.
    /// - Throws: `Failure`, or ``Failure`` if the tree contains no array of records, or several for one
    ///   collection.
    func collections(_ names: [CollectionID]) throws -> [(CollectionID, Result<ImportedCollection, any Error>)] {
        let lists = try (FileStore.list(root) ?? []).filter { $0.hasSuffix(".json") }.sorted()
        guard !lists.isEmpty, collection == nil || lists.count == 1 else {
            throw Failure(
                .usage, file: root,
                found: lists.isEmpty
                    ? "no NAME.json files"
                    : "--collection requires exactly one NAME.json file, but there are \(lists.count)",
                remedy: "give the directory that contains NAME.json, or omit --collection if there are several")
        }
        return try lists.compactMap { list in
            let name = String(list.dropLast(5))
            // If only some collections were requested, ignore files whose names are not valid for a collection.
            if collection == nil, !names.isEmpty, (try? CollectionID(bucket: "main", name: name)) == nil { return nil }
            let id = try collection ?? self.id(name, of: list)
            guard names.isEmpty || names.contains(id) else { return nil }
            return (id, Result { try read(list, name, of: id) })
        }
    }

    private func id(_ name: String, of list: String) throws(Failure) -> CollectionID {
        return try mapFailure(of: try CollectionID(bucket: "main", name: name)) { _ in
            Failure(
                .usage, file: "\(root)/\(list)", found: "\(VisibleText.quote(name)) is not a valid collection name",
                remedy: "specify the collection with --collection BUCKET/COLLECTION, or rename the file")
        }
    }

    private func read(_ list: String, _ name: String, of id: CollectionID) throws -> ImportedCollection {
        let path = "\(root)/\(list)"
        let text = try ImportedCollection.text(path)
        var collection: ImportedCollection
        do {
            let records = try JSONValue(parsing: text)
            // The array does not state when the collection was last changed, so use the newest time of a record.
            let times = (records.array ?? []).compactMap { $0["last_modified"]?.number?.uint64 }
            guard let timestamp = times.max() else { throw Failure(.missingKey("last_modified"), at: 0) }
            let metadata = JSONText.compact(DumpMetadata.make(id, nil))
            var changeset = Array("{\"metadata\":".utf8) + metadata
            changeset += Array(",\"timestamp\":\(timestamp),\"changes\":".utf8) + text.array + [UInt8(ascii: "}")]
            collection = try ImportedCollection(id, changeset: Changeset(parsing: Bytes(changeset)))
        } catch let error as Failure {
            throw Failure(
                .usage, file: path, found: "not a list of records, each with id and last_modified: \(error)",
                remedy: "fetch the file again, or export it from a dumps directory")
        }
        try AttachmentFolder(root: root, folder: "attachments/\(name)").gatherByHash(into: &collection)
        return collection
    }
}
