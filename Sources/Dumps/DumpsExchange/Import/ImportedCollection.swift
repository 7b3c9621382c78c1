import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// A folder of attachments. Each file `<name>` may have a `<name>.meta.json` with the id of its record; otherwise the
/// id is the file's name.
struct AttachmentFolder {
    private static let suffix = ".meta.json"

    let root: String
    /// The folder's path, relative to the root.
    let folder: String

    /// Adds the files that belong to records to the collection. Skips other files, and adds a note for each.
    ///
    /// - Parameter isCache: whether a file that differs from its record is skipped too, because the server's ZIP file
    ///   may be outdated.
    /// - Throws: ``Failure`` if a file differs from its record, or `Failure`.
    func gather(into collection: inout ImportedCollection, isCache: Bool = false) throws {
        for name in try FileStore.list("\(root)/\(folder)") ?? [] where !name.hasSuffix(Self.suffix) {
            let place = folder.isEmpty ? name : "\(folder)/\(name)"
            let size = try size(place)
            let id = try sidecar(place)?["id"]?.string ?? name
            guard let record = collection.records.record(id: id), let attachment = try record.attachment() else {
                collection.notes.append("\(place): skipped, because no record uses this attachment")
                continue
            }
            try refusePointer(place)
            let digest = try digest(place)
            guard attachment.size == UInt64(size), attachment.hash == digest else {
                if isCache {
                    collection.notes.append("\(place): skipped, because it does not match record \(id)")
                    continue
                }
                throw Failure(
                    .untrusted, file: root, entry: place,
                    expected:
                        "\(Counted.text(attachment.size, "byte")) with SHA-256 \(attachment.hash), as in record \(id)",
                    found: "\(Counted.text(size, "byte")) with \(digest)", remedy: "copy the file from its source again"
                )
            }
            collection.attachments[digest] = .file(path: "\(root)/\(place)")
        }
    }

    private func size(_ place: String) throws(Failure) -> Int {
        guard let size = try FileStore.size("\(root)/\(place)") else {
            throw Failure(
                .usage, file: root, entry: place, found: "it is a link or a folder, not a regular file",
                remedy: "remove it from the directory")
        }
        return size
    }

    /// Adds the files whose hash is in a record to the collection. Their names do not matter.
    ///
    /// - Throws: ``Failure`` if an entry is not a regular file, or `Failure`.
    func gatherByHash(into collection: inout ImportedCollection) throws {
        var wanted: Set<SHA256Digest> = []
        for record in collection.records {
            if let attachment = try record.attachment() { wanted.insert(attachment.hash) }
        }
        for name in try FileStore.list("\(root)/\(folder)") ?? [] {
            let place = "\(folder)/\(name)"
            _ = try size(place)
            try refusePointer(place)
            let digest = try digest(place)
            guard wanted.contains(digest) else {
                collection.notes.append("\(place): skipped, because no record has an attachment with this content")
                continue
            }
            collection.attachments[digest] = .file(path: "\(root)/\(place)")
        }
    }

    private func refusePointer(_ place: String) throws {
        guard try LargeFilePointer.isAt("\(root)/\(place)") else { return }
        throw Failure(
            .usage, file: root, entry: place, found: "it is \(LargeFilePointer.name), not the attachment",
            remedy: LargeFilePointer.remedy)
    }

    private func sidecar(_ place: String) throws -> JSONValue? {
        let path = "\(root)/\(place)\(Self.suffix)"
        guard let text = try FileStore.read(path, limit: Limits.metadataBytes) else { return nil }
        return try mapFailure(of: try JSONValue(parsing: text)) { error in
            Failure(
                .usage, file: root, entry: place + Self.suffix, found: "not JSON: \(error)",
                remedy: "copy the file from its source again")
        }
    }

    private func digest(_ place: String) throws(Failure) -> SHA256Digest {
        var hasher = ContentHasher()
        try FileStore.readPieces("\(root)/\(place)") { (piece) throws(Failure) in hasher.update(piece) }
        return hasher.finish()
    }
}

/// A collection read from a source, not verified yet.
struct ImportedCollection {
    let unverified: UnverifiedSnapshot
    var records: RecordTable { unverified.records }
    /// PEM certificate chains, one of which may verify the signatures.
    var chains: [Bytes] = []
    /// The files of the attachments, by the hash in their record.
    var attachments: [SHA256Digest: AttachmentInput] = [:]
    /// Notes for the user, such as parts of the source that were skipped, one line each.
    var notes: [String] = []

    /// Reads a document of a collection, which must be a regular file.
    static func text(_ path: String) throws(Failure) -> Bytes {
        guard case .file? = try FileStore.kind(path), let text = try FileStore.read(path, limit: Limits.changesetBytes)
        else {
            throw Failure(
                .usage, file: path, found: "it is a link, a folder or a device, not a regular file",
                remedy: "replace it with the file itself")
        }
        return text
    }

    /// Creates a collection from a changeset.
    ///
    /// - Parameter changeset: `{"metadata": …, "timestamp": …, "changes": …}`, with all records.
    /// - Throws: `Failure`.
    init(_ id: CollectionID, changeset: Changeset) throws(Failure) {
        unverified = try changeset.snapshot(of: id, onto: nil)
    }

    /// Creates a collection from the directory's current snapshot, to add attachments to it.
    init(holding snapshot: Snapshot) {
        unverified = UnverifiedSnapshot(
            collection: snapshot.collection, payload: snapshot.payload, metadata: snapshot.metadata)
    }
}
