import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// The directories that Firefox and application-services keep: `<bucket>/<collection>.json`, and files beside them.
struct DumpTree {
    enum Project {
        case firefox
        case applicationServices
    }

    let root: String
    let project: Project
    let limits: Limits

    /// The collections of the tree, each read by itself.
    ///
    /// - Parameter names: none for all.
    /// - Throws: `FileError`, or ``ExchangeError`` where there is no collection in it.
    func collections(_ names: [CollectionID]) throws -> [(CollectionID, Result<ImportedCollection, any Error>)] {
        var found: [CollectionID] = []
        for bucket in try FileStore.list(root) ?? [] where FileStore.isDirectory("\(root)/\(bucket)") {
            for file in try FileStore.list("\(root)/\(bucket)") ?? [] where file.hasSuffix(".json") {
                if let id = try? CollectionID(bucket: bucket, name: String(file.dropLast(5))) { found.append(id) }
            }
        }
        guard !found.isEmpty else {
            throw ExchangeError(
                .badInput, root, expected: "BUCKET/COLLECTION.json files", found: "none",
                remedy: "name the directory or archive that holds them")
        }
        return found.filter { names.isEmpty || names.contains($0) }.sorted().map { id in
            (id, Result { try collection(id) })
        }
    }

    private func collection(_ id: CollectionID) throws -> ImportedCollection {
        let style = project == .firefox ? DumpStyle.firefox(id) : .applicationServices
        var collection = try DumpDocument.read(
            "\(root)/\(id.bucket)/\(id.name).json", of: id, style: style, limits: limits)
        try checkTimestamp(collection.unverified)
        let folder =
            project == .firefox ? "\(id.bucket)/\(id.name)" : "\(id.bucket)/attachments/\(id.name)"
        let files = AttachmentFolder(root: root, folder: folder, limits: limits)
        try files.gather(into: &collection)
        return collection
    }

    /// application-services reads the time from a file of its own, so both must say the same.
    private func checkTimestamp(_ unverified: UnverifiedSnapshot) throws {
        let id = unverified.collection
        let path = "\(root)/\(id.bucket)/\(id.name).timestamp"
        guard project == .applicationServices, let bytes = try FileStore.read(path, limit: 64) else { return }
        let text = bytes.text.filter { !$0.isWhitespace }
        guard Timestamp(text) == unverified.timestamp else {
            throw ExchangeError(
                .badInput, path, expected: "\(unverified.timestamp), as \(id.name).json says",
                found: String(reflecting: text), remedy: "make the two agree")
        }
    }
}
