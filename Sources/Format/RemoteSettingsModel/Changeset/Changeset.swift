/// A server's answer for a collection: its metadata, its timestamp, and the records that changed, or all of them.
///
/// The records are already canonical, because one pass over their bytes checks, canonicalises and sorts them.
package struct Changeset: Sendable {
    package let metadata: CollectionMetadata
    package let timestamp: Timestamp
    /// The records in the answer, sorted by id, without tombstones.
    package let records: RecordTable
    package let tombstones: [Tombstone]

    /// The member in which a mirror sends the metadata that it received, byte for byte, to clients that name it in
    /// `Prefer`. Only this package reads it.
    package static let mirroredMetadata = "mirrored_metadata"

    /// Reads an answer's body. Does no I/O.
    ///
    /// A record keeps every member as served, including `"attachment": null` and `"deleted": false`, because the server
    /// signs them. Only `"deleted": true` makes a tombstone, which is not part of the signed payload.
    ///
    /// - Throws: ``FormatError`` with the problem and its place.
    package init(parsing body: Bytes, limits: Limits) throws(FormatError) {
        var reader = JSONReader(body, limits: limits)
        var metadata: CollectionMetadata?
        var received: Bytes?
        var timestamp: Timestamp?
        var changes: (records: RecordTable, tombstones: [Tombstone])?
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "metadata":
                // This is a copy, so that the whole body is not kept alive.
                let text = Bytes(try reader.skipValue(limit: limits.metadataBytes).array)
                metadata = try CollectionMetadata(text, of: key, limits: limits)
            case Self.mirroredMetadata:
                received = Bytes(try reader.skipValue(limit: limits.metadataBytes).array)
            case "timestamp":
                timestamp = Timestamp(milliseconds: try reader.unsignedInteger())
            case "changes":
                var collector = RecordCollector(limits: limits)
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
            try received.map { (json) throws(FormatError) in
                try metadata.received(as: json, limits: limits)
            } ?? metadata
        self.timestamp = timestamp
        records = changes.records
        tombstones = changes.tombstones
    }

    /// The collection's full state after this answer. It is not verified yet.
    ///
    /// - Parameters:
    ///   - collection: the collection that the request named.
    ///   - base: the records that the answer changes, if it answers `_since`; `nil` if the answer is a full list, which
    ///     replaces the held records. A server that no longer knows the value of `_since` answers with the full list,
    ///     without tombstones.
    /// - Throws: ``FormatError/otherCollection(expected:found:)`` if the metadata names another collection.
    package func snapshot(
        of collection: CollectionID, onto base: RecordTable?
    ) throws(FormatError) -> UnverifiedSnapshot {
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

/// A deleted record, as a changeset that answers `_since` lists it.
package struct Tombstone: Hashable, Sendable {
    package let id: String
    /// When the record was deleted; `nil` if the server does not say.
    let lastModified: Timestamp?
}
