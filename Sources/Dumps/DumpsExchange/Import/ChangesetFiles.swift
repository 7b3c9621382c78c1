import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// Saved changesets: a file with one or more of them, or a directory written by an export in the layout `changesets`.
struct ChangesetFiles {
    /// The path of a file or a directory.
    let path: String
    /// The collection of the changesets in a file; `nil` for the one in the metadata of each changeset.
    let collection: CollectionID?

    /// Reads the collections.
    ///
    /// - Parameter names: the collections to read; an empty list means all.
    func collections(_ names: [CollectionID]) throws -> [(CollectionID, Result<ImportedCollection, any Error>)] {
        func isWanted(_ id: CollectionID) -> Bool { names.isEmpty || names.contains(id) }
        let found =
            try FileStore.isDirectory(path)
            ? DumpTree.collections(in: path).filter(isWanted).map { id in (id, Result { try saved(id) }) }
            : changesets(in: path).filter { isWanted($0.0) }
        guard !found.isEmpty else {
            throw Failure(
                .usage, file: path, found: "no changesets of the requested collections",
                remedy: "give the file or directory that contains them")
        }
        return found
    }

    /// Reads one collection of an exported directory, with its chain and attachments beside it.
    private func saved(_ id: CollectionID) throws -> ImportedCollection {
        let base = "\(path)/\(id.bucket)/\(id.name)"
        guard let text = try FileStore.read(base + ".json", limit: Limits.changesetBytes) else {
            throw Failure(.usage, file: base + ".json", found: "there is no such file", remedy: "export it again")
        }
        var collection = try ImportedCollection(id, changeset: changeset(text, base + ".json"))
        if let chain = try FileStore.read(base + ".pem", limit: Limits.chainBytes) { collection.chains = [chain] }
        for file in try Manifest.files(namedBy: collection.records, file: base + ".json") {
            let attachment = "\(path)/attachments/\(file.sha256)"
            guard let size = try FileStore.size(attachment) else { continue }
            guard size == file.size else {
                guard try !LargeFilePointer.isAt(attachment) else {
                    throw Failure(
                        .usage, file: attachment, found: "it is \(LargeFilePointer.name), not the attachment",
                        remedy: LargeFilePointer.remedy)
                }
                throw Failure(
                    .untrusted, file: attachment, expected: "\(file.size) bytes, as in record \(file.records[0])",
                    found: "\(size)", remedy: "copy the file from its source again")
            }
            collection.attachments[file.sha256] = .file(path: attachment)
        }
        return collection
    }

    private func changesets(in file: String) throws -> [(CollectionID, Result<ImportedCollection, any Error>)] {
        guard let text = try FileStore.read(file, limit: Limits.changesetBytes) else {
            throw Failure(.usage, file: file, found: "there is no such file", remedy: "check the path")
        }
        let chain = try FileStore.read(file + ".pem", limit: Limits.chainBytes)
        return try documents(text, file).enumerated().map { number, document in
            let place = "\(file): changeset \(number + 1)"
            let changeset = try changeset(document, place)
            let id = try name(changeset, place)
            return (
                id,
                Result {
                    var collection = try ImportedCollection(id, changeset: changeset)
                    collection.chains = chain.map { [$0] } ?? []
                    return collection
                }
            )
        }
    }

    /// Returns the changesets in a file, which contains one or an array of them.
    private func documents(_ text: Bytes, _ file: String) throws -> [Bytes] {
        guard let first = text.array.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }),
            first == UInt8(ascii: "[")
        else { return [text] }
        do throws(Failure) {
            var reader = JSONReader(text)
            var documents: [Bytes] = []
            try reader.beginArray()
            while try reader.nextElement() { documents.append(try reader.skipValue()) }
            try reader.finish()
            return documents
        } catch {
            throw Failure(
                .usage, file: file, found: "not a list of changesets: \(error)", remedy: "fetch the file again")
        }
    }

    private func changeset(_ text: Bytes, _ place: String) throws -> Changeset {
        try mapFailure(of: try Changeset(parsing: text)) { error in
            Failure(
                .usage, file: place,
                found: "neither an archive nor a changeset, {\"metadata\": …, \"timestamp\": …, \"changes\": […]}: "
                    + "\(error)",
                remedy: "request the changeset without _since, and save the response unchanged")
        }
    }

    private func name(_ changeset: Changeset, _ place: String) throws -> CollectionID {
        if let collection { return collection }
        if let bucket = changeset.metadata.bucket, let id = changeset.metadata.id {
            return try CollectionID(bucket: bucket, name: id)
        }
        throw Failure(
            .usage, file: place, found: "the metadata does not specify the collection",
            remedy: "specify it with --collection BUCKET/COLLECTION")
    }
}
