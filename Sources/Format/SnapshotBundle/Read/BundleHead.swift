import RemoteSettingsModel

/// The head of a bundle's manifest, which is at the start of the file.
package struct BundleHead: Hashable, Sendable {
    package var collection: CollectionID
    package var timestamp: Timestamp
    /// Records in the collection.
    package var records: Int
    /// Attachment files in the bundle.
    package var attachments: Int
    /// Attachment files that records of the collection name and that were left out of the bundle.
    package var omitted: Int
    package var trust: Provenance.Kind

    package init(
        collection: CollectionID, timestamp: Timestamp, records: Int, attachments: Int, omitted: Int,
        trust: Provenance.Kind
    ) {
        self.collection = collection
        self.timestamp = timestamp
        self.records = records
        self.attachments = attachments
        self.omitted = omitted
        self.trust = trust
    }
}

extension BundleHead {
    /// Reads the head from the first 1,024 bytes of a file. Does I/O; nothing is mapped, inflated or verified.
    ///
    /// - Throws: ``BundleError`` if the file cannot be read or does not begin like a bundle.
    package static func read(path: String) throws(BundleError) -> BundleHead {
        try read(FilePrefix.read(path: path, count: BundleFormat.headBytes), name: path)
    }

    /// Reads the head from the first bytes of a bundle, of which 1,024 are enough.
    ///
    /// - Parameter name: the bundle's name for error messages.
    package static func read(_ bytes: Bytes, name: String) throws(BundleError) -> BundleHead {
        try bytes.withRawSpan { (raw) throws(BundleError) in
            let nameLength = BundleFormat.manifest.utf8.count
            let nameEnd = ZIPLayout.localSize + nameLength
            guard raw.byteCount >= nameEnd, raw.little(0) == ZIPLayout.localSignature,
                raw.little(8) == ZIPLayout.stored, raw.little(26) == UInt16(nameLength),
                ZIPEntry.text(raw, ZIPLayout.localSize..<nameEnd) == BundleFormat.manifest
            else {
                throw BundleError(
                    .malformed, file: name, expected: "a ZIP file that begins with a stored manifest.json",
                    found: "something else")
            }
            let start = nameEnd + Int(raw.little(28, as: UInt16.self))
            var scanner = ManifestScanner(file: name, at: min(start, raw.byteCount))
            return try scanner.head(raw)
        }
    }
}
