import RemoteSettingsModel

extension BundleReader {
    /// Returns the bundle's snapshot without verifying its signatures. Inflates and parses `records.json` once.
    ///
    /// - Throws: the errors of ``payload()`` and ``metadata()``.
    package func unverifiedSnapshot() throws(Failure) -> UnverifiedSnapshot {
        UnverifiedSnapshot(collection: head.collection, payload: try payload(), metadata: try metadata())
    }

    /// Returns the bundle's payload with its records. Every call inflates and parses it again, so keep the result.
    ///
    /// - Parameter isHashed: see ``payloadText(isHashed:)``.
    /// - Throws: ``Failure`` if it is damaged, not canonical, or differs from the head.
    package func payload(isHashed: Bool = false) throws(Failure) -> Payload {
        try payload(parsing: payloadText(isHashed: isHashed))
    }

    /// Parses the payload in `text`, which is the bundle's ``payloadText(isHashed:)`` or a copy of it.
    package func payload(parsing text: Bytes) throws(Failure) -> Payload {
        let payload = try mapFailure(of: try Payload(parsing: text, expecting: head.records)) { error in
            Failure(.malformed, file: name, entry: BundleFormat.records, found: "\(error)")
        }
        guard payload.records.count == head.records, payload.timestamp == head.timestamp else {
            throw Failure(
                .damaged, file: name, entry: BundleFormat.records,
                expected: "\(Counted.text(head.records, "record")) at timestamp \(head.timestamp)",
                found: "\(Counted.text(payload.records.count, "record")) at \(payload.timestamp)")
        }
        return payload
    }

    /// Returns the collection's metadata. Every call parses it again.
    ///
    /// - Throws: ``Failure`` if it is not a collection's metadata.
    package func metadata() throws(Failure) -> CollectionMetadata {
        let text = try metadataText()
        return try mapFailure(of: try CollectionMetadata(parsing: text)) { error in
            Failure(
                .malformed, file: name, entry: BundleFormat.metadata, found: "not a collection's metadata: \(error)")
        }
    }
}
