import RemoteSettingsModel

/// One file of a mirror, with the HTTP properties that an upload to an object store needs.
struct MirrorObject {
    /// The URL's path, percent-encoded.
    let path: String
    /// The file's path, relative to the root of the tree.
    let file: String
    let contentType: String
    let cacheControl: String
    /// The size in bytes.
    let size: Int
    let sha256: SHA256Digest
    /// The size in bytes of the compressed copy, whose name has the suffix `.gz`; `nil` if there is none.
    let gzipSize: Int?
    /// The SHA-256 of the `.gz` file.
    let gzipSHA256: SHA256Digest?
    /// The changeset in the file; `nil` for any other file.
    let changeset: MirrorChangeset?
    let lastModified: Timestamp

    var json: JSONValue {
        .members([
            "path": .string(path), "file": .string(file), "contentType": .string(contentType),
            "cacheControl": .string(cacheControl), "size": .count(size), "sha256": .string(sha256.hex),
            "gzipSize": gzipSize.map { .count($0) }, "gzipSha256": gzipSHA256.map { .string($0.hex) },
            "collection": changeset.map { .string($0.collection) },
            "state": changeset.map { .count($0.state.milliseconds) },
            "since": changeset?.since.map { .count($0.milliseconds) },
            "lastModified": .count(lastModified.milliseconds),
        ])
    }
}

/// The state that a client has after applying a changeset, and the state that it must have before.
struct MirrorChangeset {
    /// The collection as `bucket/name`. The monitor is `monitor/changes`.
    let collection: String
    let state: Timestamp
    /// The start state of a delta; `nil` if the changeset is the whole collection.
    var since: Timestamp?

    static let monitor = "monitor/changes"
}
