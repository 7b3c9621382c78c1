import RemoteSettingsModel

extension BundleReader {
    /// The snapshot that the bundle holds, as it claims; its signatures are still to be verified.
    public func unverifiedSnapshot() throws(BundleError) -> UnverifiedSnapshot {
        let json = try metadata()
        let parsed: CollectionMetadata
        do throws(JSONError) {
            parsed = try CollectionMetadata(parsing: json, limits: limits)
        } catch {
            throw BundleError(
                .malformed, file: name, entry: BundleFormat.metadata, expected: "a collection's metadata",
                found: error.description)
        }
        return UnverifiedSnapshot(
            collection: head.collection, timestamp: head.timestamp, payload: try payload(), metadata: json,
            signatures: parsed.signatures)
    }

    /// The records of the bundle's payload, as slices of it.
    ///
    /// - Throws: ``BundleError`` where the payload is not canonical, or not what the head says.
    public func records() throws(BundleError) -> RecordTable {
        try records(of: payload())
    }

    /// The same from the bundle's ``payload()``, where the caller has it already.
    package func records(of text: Bytes) throws(BundleError) -> RecordTable {
        let table: RecordTable
        let timestamp: Timestamp
        do throws(ChangesetError) {
            (table, timestamp) = try Payload.read(text, limits: limits)
        } catch {
            throw BundleError(
                .malformed, file: name, entry: BundleFormat.records, expected: "a canonical payload",
                found: error.description)
        }
        guard table.count == head.records, timestamp == head.timestamp else {
            throw BundleError(
                .disagreement, file: name, entry: BundleFormat.records,
                expected: "\(Counted.text(head.records, "record")) at timestamp \(head.timestamp)",
                found: "\(Counted.text(table.count, "record")) at \(timestamp)")
        }
        return table
    }
}
