import RemoteSettingsModel

/// The first members of a bundle's manifest, which are at the beginning of the bundle's file.
package struct BundleHead: Hashable, Sendable {
    package var collection: CollectionID
    package var timestamp: Timestamp
    /// The number of records in the collection.
    package var records: Int
    /// The number of attachment files in the bundle.
    package var attachments: Int
    /// The number of attachment files in the records that are not in the bundle.
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
    /// Reads the head from the first 1,024 bytes of a file. Does I/O; maps, inflates and verifies nothing.
    ///
    /// - Throws: ``Failure`` if the file cannot be read, or if it does not begin like a bundle.
    package static func read(path: String) throws(Failure) -> BundleHead {
        let beginning = try Failure.reading { () throws(Failure) in
            try ReadableFile(path).next(BundleFormat.headBytes)
        }
        return try read(Bytes(beginning), name: path)
    }

    /// Reads the head from the first bytes of a bundle. 1,024 bytes are sufficient.
    ///
    /// - Parameter name: the bundle's name for error messages.
    package static func read(_ bytes: Bytes, name: String) throws(Failure) -> BundleHead {
        try bytes.withRawSpan { (raw) throws(Failure) in
            let nameLength = BundleFormat.manifest.utf8.count
            let nameEnd = ZIPLayout.localSize + nameLength
            guard raw.byteCount >= nameEnd, raw.little(0) == ZIPLayout.localSignature,
                raw.little(8) == ZIPLayout.stored, raw.little(26) == UInt16(nameLength),
                ZIPEntry.text(raw, ZIPLayout.localSize..<nameEnd) == BundleFormat.manifest
            else {
                try LargeFilePointer.refuse(bytes, file: name, expected: "a bundle")
                throw Failure(
                    .malformed, file: name,
                    found: "not a bundle: it is not a ZIP file that begins with an uncompressed manifest.json")
            }
            let start = nameEnd + Int(raw.little(28, as: UInt16.self))
            let text = bytes[min(start, bytes.count)..<bytes.count]
            var reader = DocumentReader(manifest: text, file: name)
            try reader.begin()
            let head = try BundleHead(&reader)
            guard text.starts(with: head.text.utf8) else {
                throw reader.failure(found: "the text is not in canonical form: expected `\(head.text)`")
            }
            return head
        }
    }

    /// Reads the members of the manifest from the first one to `trust`.
    init(_ reader: inout DocumentReader) throws(Failure) {
        try reader.version("format", is: BundleFormat.version)
        let bucket = try reader.string("bucket")
        collection = try reader.string("collection", expected: "a valid bucket id and collection id") { name in
            try? CollectionID(bucket: bucket, name: name)
        }
        timestamp = try reader.number("timestamp", expected: BundleFormat.timestampRule, BundleFormat.timestamp)
        records = try reader.count("records")
        attachments = try reader.count("attachments")
        omitted = try reader.count("omitted")
        trust = try reader.string("trust", expected: "signed, unsigned or imported") { Provenance.Kind(rawValue: $0) }
    }
}
