/// The monitor's response: every collection of the server with the time of its last change.
package struct MonitorChangeset: Sendable {
    /// The monitor's own timestamp, which is the time of the newest change.
    package let timestamp: Timestamp
    /// The timestamp of each collection. Entries without a timestamp or valid ids are ignored.
    package let collections: [CollectionID: Timestamp]

    /// Parses the body of a response. Does no I/O.
    ///
    /// - Throws: ``Failure``.
    package init(parsing body: Bytes) throws(Failure) {
        var reader = JSONReader(body)
        let (timestamp, collections) = try Self.read(&reader)
        guard let timestamp else { throw .missing("timestamp") }
        guard let collections else { throw .missing("changes") }
        self.timestamp = timestamp
        self.collections = collections
    }

    private static func read(_ reader: inout JSONReader) throws(Failure) -> (Timestamp?, [CollectionID: Timestamp]?) {
        var timestamp: Timestamp?
        var collections: [CollectionID: Timestamp]?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "timestamp": timestamp = Timestamp(milliseconds: try reader.unsignedInteger())
            case "changes":
                var found: [CollectionID: Timestamp] = [:]
                try reader.beginArray()
                while try reader.nextElement() {
                    guard let (id, changed) = try change(&reader) else { continue }
                    // The entries are sorted newest first, so use the first one for each collection.
                    if found[id] == nil { found[id] = changed }
                }
                collections = found
            default: try reader.skipValue()
            }
        }
        try reader.finish()
        return (timestamp, collections)
    }

    private static func change(_ reader: inout JSONReader) throws(Failure) -> (CollectionID, Timestamp)? {
        var bucket: String?
        var name: String?
        var changed: Timestamp?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "bucket": bucket = try reader.string()
            case "collection": name = try reader.string()
            case "last_modified": changed = Timestamp(milliseconds: try reader.unsignedInteger())
            default: try reader.skipValue()
            }
        }
        guard let bucket, let name, let changed, let id = try? CollectionID(bucket: bucket, name: name) else {
            return nil
        }
        return (id, changed)
    }
}
