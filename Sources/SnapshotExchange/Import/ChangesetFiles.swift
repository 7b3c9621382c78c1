import FileStorage
import MozillaLZ4
import RemoteSettingsModel
import SnapshotBundle

/// Saved changesets: one file with one or many, or the directory that an export to changesets makes.
struct ChangesetFiles {
    /// A file or a directory.
    let path: String
    /// For a changeset whose metadata does not name its collection.
    let collection: CollectionID?
    let limits: Limits

    /// - Parameter names: none for all.
    func collections(_ names: [CollectionID]) throws -> [(CollectionID, Result<ImportedCollection, any Error>)] {
        var found: [(CollectionID, Result<ImportedCollection, any Error>)] = []
        if FileStore.isDirectory(path) {
            for bucket in try FileStore.list(path) ?? [] where FileStore.isDirectory("\(path)/\(bucket)") {
                for file in try FileStore.list("\(path)/\(bucket)") ?? [] where file.hasSuffix(".json") {
                    guard let id = try? CollectionID(bucket: bucket, name: String(file.dropLast(5))),
                        names.isEmpty || names.contains(id)
                    else { continue }
                    found.append((id, Result { try saved(id) }))
                }
            }
        } else {
            found = try changesets(in: path).filter { names.isEmpty || names.contains($0.0) }
        }
        guard !found.isEmpty else {
            throw ExchangeError(
                .badInput, path, expected: "changesets", found: "none of the wanted collections",
                remedy: "name the file or directory that holds them")
        }
        return found
    }

    /// One collection of an exported directory, with its chain and attachments beside it.
    private func saved(_ id: CollectionID) throws -> ImportedCollection {
        let base = "\(path)/\(id.bucket)/\(id.name)"
        guard let text = try FileStore.read(base + ".json", limit: limits.changesetBytes) else {
            throw ExchangeError(.badInput, base + ".json", expected: "a file", found: "none", remedy: "export it again")
        }
        var collection = try ImportedCollection(id, changeset: changeset(text, base + ".json"))
        if let chain = try FileStore.read(base + ".pem", limit: limits.chainBytes) { collection.chains = [chain] }
        for file in try Manifest.files(namedBy: collection.records, file: base + ".json", limits: limits) {
            let attachment = "\(path)/attachments/\(file.sha256)"
            guard let size = FileStore.size(attachment) else { continue }
            guard size == file.size else {
                throw ExchangeError(
                    .unverified, attachment, expected: "\(file.size) bytes, as record \(file.records[0]) says",
                    found: "\(size)", remedy: "take the file from its source again")
            }
            collection.attachments[file.sha256] = .file(path: attachment)
        }
        return collection
    }

    private func changesets(in file: String) throws -> [(CollectionID, Result<ImportedCollection, any Error>)] {
        guard var text = try FileStore.read(file, limit: limits.changesetBytes) else {
            throw ExchangeError(.badInput, file, expected: "a file", found: "none", remedy: "name another path")
        }
        if MozLZ4.isOne(text) {
            do throws(MozLZ4.Refused) {
                text = try MozLZ4.unpack(text, limit: limits.changesetBytes)
            } catch {
                throw ExchangeError(
                    .badInput, file, expected: error.expected, found: error.found, remedy: "fetch the file again")
            }
        }
        let chain = try FileStore.read(file + ".pem", limit: limits.chainBytes)
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

    /// The changesets of a file: one, or a list of them.
    private func documents(_ text: Bytes, _ file: String) throws -> [Bytes] {
        guard let first = text.array.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }),
            first == UInt8(ascii: "[")
        else { return [text] }
        do throws(JSONError) {
            var reader = JSONReader(text, limits: limits)
            var documents: [Bytes] = []
            try reader.beginArray()
            while try reader.nextElement() { documents.append(try reader.skipValue()) }
            try reader.finish()
            return documents
        } catch {
            throw ExchangeError(
                .badInput, file, expected: "a list of changesets", found: "\(error)", remedy: "fetch the file again")
        }
    }

    private func changeset(_ text: Bytes, _ place: String) throws -> Changeset {
        do throws(ChangesetError) {
            return try Changeset(parsing: text, limits: limits)
        } catch {
            throw ExchangeError(
                .badInput, place, expected: "a changeset, {\"metadata\": …, \"timestamp\": …, \"changes\": […]}",
                found: "\(error)", remedy: "save the server's answer as it is, without _since")
        }
    }

    private func name(_ changeset: Changeset, _ place: String) throws -> CollectionID {
        if let collection { return collection }
        if let bucket = changeset.metadata.bucket, let id = changeset.metadata.id {
            return try CollectionID(bucket: bucket, name: id)
        }
        throw ExchangeError(
            .usage, place, expected: "metadata that names bucket and collection", found: "none",
            remedy: "name it with --collection BUCKET/COLLECTION")
    }
}
