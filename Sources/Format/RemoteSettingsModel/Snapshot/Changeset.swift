/// A server's response for a collection: its metadata, its timestamp, and its records, either all of them or only the
/// ones that changed.
///
/// The records are already canonical, because a single pass over their bytes checks, canonicalizes and sorts them.
package struct Changeset: Sendable {
    package let metadata: CollectionMetadata
    package let timestamp: Timestamp
    /// The records in the response, sorted by id, without tombstones.
    package let records: RecordTable
    package let tombstones: [Tombstone]

    /// A member that is specific to this package: the metadata byte for byte as a mirror received it. The mirror sends
    /// it only to clients that request it in the header `Prefer`.
    package static let mirroredMetadata = "mirrored_metadata"

    /// Parses the body of a response. Does no I/O.
    ///
    /// A record keeps every member as served, including `"attachment": null` and `"deleted": false`, because the server
    /// signs them. Only an element with `"deleted": true` is a tombstone, which is not part of the signed payload.
    ///
    /// - Parameter mostRecords: the largest number of records and tombstones.
    /// - Throws: ``Failure`` with the problem and its position.
    package init(parsing body: Bytes, records mostRecords: Int = Limits.records) throws(Failure) {
        var reader = JSONReader(body)
        var metadata: CollectionMetadata?
        var received: Bytes?
        var timestamp: Timestamp?
        var changes: (records: RecordTable, tombstones: [Tombstone])?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "metadata":
                // Copy the bytes, because a slice would keep the whole body in memory.
                let text = Bytes(try reader.skipValue(limit: Limits.metadataBytes).array)
                metadata = try CollectionMetadata(text, of: key)
            case Self.mirroredMetadata:
                received = Bytes(try reader.skipValue(limit: Limits.metadataBytes).array)
            case "timestamp":
                timestamp = Timestamp(milliseconds: try reader.unsignedInteger())
            case "changes":
                var collector = RecordCollector(records: mostRecords)
                try collector.collect(&reader)
                let tombstones = collector.tombstones
                changes = (try collector.table(), tombstones)
            default: _ = try reader.skipValue()
            }
        }
        try reader.finish()
        guard let metadata else { throw .missing("metadata") }
        guard let timestamp else { throw .missing("timestamp") }
        guard let changes else { throw .missing("changes") }
        self.metadata =
            try received.map { (json) throws(Failure) in
                try metadata.received(as: json)
            } ?? metadata
        self.timestamp = timestamp
        records = changes.records
        tombstones = changes.tombstones
    }

    /// Returns the collection's full state after this response. It is not verified yet.
    ///
    /// - Parameters:
    ///   - collection: the requested collection.
    ///   - base: the records to apply the changes to, if the response is for `_since`; `nil` if the response is a full
    ///     list, which replaces the local records. A server that no longer has the state of `_since` sends a full list
    ///     without tombstones.
    /// - Throws: ``Failure/otherCollection(expected:found:)`` if the metadata belongs to another collection.
    package func snapshot(of collection: CollectionID, onto base: RecordTable?) throws(Failure) -> UnverifiedSnapshot {
        if metadata.bucket ?? collection.bucket != collection.bucket
            || (metadata.id ?? collection.name).exact != collection.name.exact
        {
            throw .otherCollection(
                expected: collection, found: "\(metadata.bucket ?? collection.bucket)/\(metadata.id ?? collection.name)"
            )
        }
        let all = base?.applying(records, tombstones: tombstones) ?? records
        return UnverifiedSnapshot(
            collection: collection, payload: Payload(all, timestamp: timestamp), metadata: metadata)
    }
}

/// A deleted record in a changeset that responds to `_since`.
package struct Tombstone: Hashable, Sendable {
    package let id: String
    /// The time when the record was deleted; `nil` if the server does not state it.
    let lastModified: Timestamp?
}
