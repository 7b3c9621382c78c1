import RemoteSettingsModel

extension BundleReader {
    /// The snapshot that the bundle holds, as it claims; its signatures are still to be verified. Inflates `records.json`
    /// and reads it, once.
    ///
    /// - Throws: ``BundleError``, as ``payload()`` and ``metadata()``.
    public func unverifiedSnapshot() throws(BundleError) -> UnverifiedSnapshot {
        UnverifiedSnapshot(collection: head.collection, payload: try payload(), metadata: try metadata())
    }

    /// The bundle's payload with its records, read anew at each call: keep it where it is needed more than once.
    ///
    /// - Throws: ``BundleError`` where it is damaged, not canonical, or not what the head says.
    public func payload() throws(BundleError) -> Payload { try payload(parsing: payloadText()) }

    /// The same from the bundle's ``payloadText()``, where the caller has it already, or a copy of it.
    package func payload(parsing text: Bytes) throws(BundleError) -> Payload {
        let payload: Payload
        do throws(ChangesetError) {
            payload = try Payload(parsing: text, limits: limits)
        } catch {
            throw BundleError(
                .malformed, file: name, entry: BundleFormat.records, expected: "a canonical payload",
                found: error.description)
        }
        guard payload.records.count == head.records, payload.timestamp == head.timestamp else {
            throw BundleError(
                .disagreement, file: name, entry: BundleFormat.records,
                expected: "\(Counted.text(head.records, "record")) at timestamp \(head.timestamp)",
                found: "\(Counted.text(payload.records.count, "record")) at \(payload.timestamp)")
        }
        return payload
    }

    /// The collection's metadata. Parsed anew at each call.
    ///
    /// - Throws: ``BundleError`` where it is not a collection's metadata.
    public func metadata() throws(BundleError) -> CollectionMetadata {
        let text = try metadataText()
        do throws(JSONError) {
            return try CollectionMetadata(parsing: text, limits: limits)
        } catch {
            throw BundleError(
                .malformed, file: name, entry: BundleFormat.metadata, expected: "a collection's metadata",
                found: error.description)
        }
    }
}
