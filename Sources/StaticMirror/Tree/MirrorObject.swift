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
    let lastModified: Timestamp

    var json: JSONValue {
        .members([
            "path": .string(path), "file": .string(file), "contentType": .string(contentType),
            "cacheControl": .string(cacheControl), "size": .count(size), "sha256": .string(sha256.hex),
            "gzipSize": gzipSize.map { .count($0) }, "lastModified": .count(lastModified.milliseconds),
        ])
    }
}
