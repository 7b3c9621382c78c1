import RemoteSettingsModel

/// One file of a mirror, and how it is served: what an upload to an object store needs to know.
struct MirrorObject {
    /// The URL's path, percent-encoded.
    let path: String
    /// Below the root of the tree.
    let file: String
    let contentType: String
    let cacheControl: String
    /// Bytes.
    let size: Int
    let sha256: SHA256Digest
    /// Bytes of the file with `.gz` behind its name; `nil` where there is none.
    let gzipSize: Int?
    /// Of that file.
    let gzipSHA256: SHA256Digest?
    /// What the file is a changeset of; `nil` for everything else.
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

/// Which state a changeset brings a client to, and from which one.
struct MirrorChangeset {
    /// As `bucket/name`; the monitor's is `monitor/changes`.
    let collection: String
    let state: Timestamp
    /// `nil` for the whole collection.
    var since: Timestamp?

    static let monitor = "monitor/changes"
}
