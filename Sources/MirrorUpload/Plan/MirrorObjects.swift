import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// The objects that make up a mirror in a store, as its `objects.json` describes them.
struct MirrorObjects: Sendable {
    /// The name of the mirror's tree. It follows from the contents.
    let tree: String
    let collections: [CollectionID: Timestamp]
    let objects: [UploadObject]
    /// The longest time for which a cache may keep an answer that is not immutable, in seconds.
    let longestCacheSeconds: Int

    /// A changeset under a name that contains its state differs only when the server signs it again.
    private static let namedStateCaching = "public, max-age=3600"

    /// - Parameter folder: a mirror's folder.
    /// - Throws: ``UploadError`` if it has no mirror; `FileError`.
    init(readingFrom folder: String) throws {
        let root = "\(folder)/current"
        guard let list = try FileStore.read("\(root)/objects.json", limit: Limits().lockBytes * 4) else {
            throw UploadError.notAMirror(folder, problem: "found no current/objects.json")
        }
        func malformed(_ problem: String) -> UploadError {
            .notAMirror(folder, problem: "and in its objects.json \(problem)")
        }
        let entries: [JSONValue]
        do throws(JSONError) {
            entries = try JSONValue(parsing: list, limits: .lists).array ?? []
        } catch {
            throw malformed("\(error)")
        }
        var (objects, collections, longest) = ([UploadObject](), [CollectionID: Timestamp](), 3600)
        for entry in entries {
            guard let file = entry["file"]?.string, let type = entry["contentType"]?.string,
                let caching = entry["cacheControl"]?.string, let size = entry["size"]?.number?.int64,
                let sha256 = entry["sha256"]?.string
            else { throw malformed("an entry lacks a member") }
            let state = entry["state"]?.number?.uint64.map { Timestamp(milliseconds: $0) }
            let since = entry["since"]?.number?.uint64
            if !caching.contains("immutable"),
                let seconds = caching.split(separator: "max-age=").last.flatMap({ Int($0) })
            {
                longest = max(longest, seconds)
            }
            func add(_ key: String, _ caching: String, _ phase: UploadObject.Phase, compressed: Bool) {
                let packed = compressed ? entry["gzipSize"]?.number?.int64 : nil
                objects.append(
                    UploadObject(
                        key: compressed ? "\(key).gz" : key, file: "\(root)/\(file)" + (packed == nil ? "" : ".gz"),
                        headers: ObjectHeaders(
                            contentType: type, cacheControl: caching, contentEncoding: packed == nil ? nil : "gzip"),
                        size: Int(clamping: packed ?? size),
                        sha256: packed == nil ? sha256 : entry["gzipSha256"]?.string ?? "", phase: phase))
            }
            /// Adds a document under two keys. The second is for readers that accept gzip, even if its content is not
            /// compressed.
            func addDocument(_ key: String, _ caching: String, _ phase: UploadObject.Phase) {
                add(key, caching, phase, compressed: false)
                add(key, caching, phase, compressed: true)
            }
            guard let collection = entry["collection"]?.string else {
                switch file.split(separator: "/").last {
                case "index.json": addDocument(file, caching, .root)
                case let last? where last.hasSuffix(".pem") && type == "application/x-pem-file":
                    addDocument(file, caching, .content)
                default: add(file, caching, .content, compressed: false)
                }
                continue
            }
            guard let state else { throw malformed("an entry lacks a member") }
            guard collection != "monitor/changes" else {
                // The edge always answers with the full list, so that one object makes a state visible.
                if since == nil { addDocument(file, caching, .monitor) }
                continue
            }
            collections[try CollectionID(collection)] = state
            let name = since.map { "/since/\($0)" } ?? "/changeset"
            guard file.hasSuffix(name) else { throw malformed("a changeset has another name") }
            addDocument("\(file.dropLast(name.utf8.count))/at/\(state)\(name)", Self.namedStateCaching, .state)
            addDocument(file, caching, .current)
        }
        guard objects.contains(where: { $0.phase == .monitor }) else { throw malformed("no monitor is listed") }
        tree = "tree-" + SHA256Digest(hashing: list).hex.prefix(32)
        self.collections = collections
        self.objects = objects
        longestCacheSeconds = longest
    }
}
