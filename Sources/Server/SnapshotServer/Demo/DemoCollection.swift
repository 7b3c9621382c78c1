import RemoteSettingsModel
import SnapshotBundle

/// An editable sample collection: records as JSON strings, and the files that they refer to.
struct DemoCollection {
    let name: String
    var records: [String: String] = [:]
    var files: [SHA256Digest: Bytes] = [:]
    /// Whether the server also offers all attachments as a single ZIP file.
    var hasZip = false

    /// Adds or replaces a record.
    ///
    /// - Parameter fields: the record's members except `id` and `last_modified`, as JSON without braces.
    mutating func put(_ id: String, _ fields: String, at time: Timestamp) {
        records[id] = #"{"id":"\#(id)","last_modified":\#(time),\#(fields)}"#
    }

    mutating func put(_ id: String, _ fields: String, file: Bytes, named filename: String, at time: Timestamp) {
        let digest = SHA256Digest(hashing: file)
        files[digest] = file
        put(
            id,
            #"\#(fields),"attachment":{"filename":"\#(filename)","mimetype":"image/svg+xml","size":\#(file.count),"#
                + #""location":"main-workspace/\#(name)/\#(digest.hex.prefix(32)).svg","hash":"\#(digest)"}"#, at: time)
    }
}
