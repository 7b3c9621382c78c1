import RemoteSettingsModel

/// Writes a verified snapshot as a bundle of format 1.
///
/// The same snapshot, attachments and options always give the same bytes, regardless of the time zone, locale, umask,
/// directory, thread and order of the attachments. A different version of zlib may compress differently, but the
/// manifest, and with it ``WrittenBundle/content``, is always the same.
package struct BundleWriter: Sendable {
    /// The entries that are compressed if that makes them smaller. The choice has no other effect:
    /// ``WrittenBundle/content`` is the same for all cases.
    package enum Compression: Sendable {
        /// All entries except the manifest, for the smallest file.
        case deflate
        /// All entries except the manifest and the records, so that readers can use the records without inflating them.
        case storedRecords
        /// No entries. This is for storage that deduplicates versions itself, such as git.
        case stored
    }

    private let snapshot: Snapshot
    private let sources: [SHA256Digest: AttachmentInput]
    private let compression: Compression
    private let packedRecords: PackedRecords?

    /// Creates a writer for one snapshot.
    ///
    /// - Parameters:
    ///   - attachments: the bytes of each attachment in the records, or the reason to omit it, by its hash. The size,
    ///     location and record ids come from the records.
    ///   - packedRecords: the snapshot's payload if it is already compressed; used only if records are compressed. The
    ///     writer does not compare it with the snapshot; ``BundleReader/verifyContents()`` does so for the finished
    ///     bundle.
    package init(
        _ snapshot: Snapshot, attachments: [SHA256Digest: AttachmentInput],
        compression: Compression = .deflate, packedRecords: PackedRecords? = nil
    ) {
        self.snapshot = snapshot
        self.packedRecords = packedRecords
        sources = attachments
        self.compression = compression
    }

    /// Writes the bundle to a new file and flushes it to the disk. Does I/O.
    ///
    /// Write to a temporary file and rename it. A bundle that is in use must not be overwritten in place.
    ///
    /// - Parameter flushing: see ``OutputFile/create(path:flushing:_:)``.
    /// - Throws: ``Failure``, after removing the file.
    package func write(toNewFile path: String, flushing: Bool = true) throws(Failure) -> WrittenBundle {
        try OutputFile.create(path: path, flushing: flushing) { (descriptor) throws(Failure) in
            try write(toDescriptor: descriptor, name: path)
        }
    }

    /// Writes the bundle to an open file, beginning at its current position. Does I/O.
    ///
    /// - Parameter name: the file's name for error messages.
    /// - Throws: ``Failure``. The file is then incomplete.
    func write(toDescriptor descriptor: Int32, name: String) throws(Failure) -> WrittenBundle {
        try write(to: OutputFile(descriptor: descriptor, name: name))
    }

    /// Creates the bundle in memory. Does no I/O, unless an attachment is a file.
    ///
    /// - Parameter name: the bundle's name for error messages.
    package func bytes(name: String) throws(Failure) -> (bytes: Bytes, bundle: WrittenBundle) {
        let output = OutputFile(inMemory: name)
        let bundle = try write(to: output)
        return (output.bytes, bundle)
    }

    private func write(to output: OutputFile) throws(Failure) -> WrittenBundle {
        let name = output.name
        let manifest = try manifest(name)
        let text = Bytes(manifest.text)
        try check(text.count, limit: Limits.manifestBytes, entry: BundleFormat.manifest, file: name)
        let deflater = compression == .stored ? nil : try Deflater.forBundles(name)
        let archive = ZIPArchive(output)
        let content = SHA256Digest(hashing: text)
        let writer = EntryWriter(archive: archive, deflater: deflater)
        try writer.write(BundleFormat.manifest, text, isStored: true)
        if compression != .deflate {
            try writer.write(BundleFormat.records, snapshot.payload.bytes, isStored: true)
        } else if let packedRecords {
            guard packedRecords.content.size == snapshot.payload.bytes.count else {
                throw Failure(
                    .usage, file: name, entry: BundleFormat.records,
                    expected: "\(snapshot.payload.bytes.count) bytes", found: "\(packedRecords.content.size)")
            }
            try writer.write(BundleFormat.records, content: packedRecords.content, bytes: packedRecords.bytes)
        } else {
            try writer.write(snapshot.payload, file: name)
        }
        try writer.write(BundleFormat.metadata, snapshot.metadata.json)
        if let chain = snapshot.chain, manifest.entries.count > 2 { try writer.write(BundleFormat.chain, chain) }
        for file in manifest.packed {
            guard let source = sources[file.sha256] else { continue }
            try writer.write(
                EntrySource(
                    name: BundleFormat.attachmentPrefix + file.sha256.hex, size: file.size, sha256: file.sha256,
                    source: source, file: name))
        }
        try archive.close()
        return WrittenBundle(size: output.size, sha256: output.digest(), content: content, manifest: manifest)
    }

    /// Checks a limit of readers before anything is written, because a reader would refuse a larger entry.
    private func check(_ size: Int, limit: Int, entry: String, file: String) throws(Failure) {
        guard size <= limit else {
            throw Failure(.overLimit, file: file, entry: entry, expected: "at most \(limit) bytes", found: "\(size)")
        }
    }
}

extension BundleWriter {
    private func manifest(_ name: String) throws(Failure) -> Manifest {
        let timestamp = snapshot.timestamp
        guard BundleFormat.timestamp(timestamp.milliseconds) != nil else {
            throw Failure(
                .usage, file: name, entry: BundleFormat.manifest, expected: BundleFormat.timestampRule,
                found: "\(timestamp)")
        }
        try check(snapshot.payload.bytes.count, limit: Limits.changesetBytes, entry: BundleFormat.records, file: name)
        try check(snapshot.metadata.json.count, limit: Limits.metadataBytes, entry: BundleFormat.metadata, file: name)
        let files = try files(of: snapshot.records, name)
        var entries = [
            Self.describe(BundleFormat.records, snapshot.payload.bytes),
            Self.describe(BundleFormat.metadata, snapshot.metadata.json),
        ]
        if snapshot.provenance.isSigned {
            guard let chain = snapshot.chain else {
                throw Failure(.usage, file: name, entry: BundleFormat.chain, found: "the signed snapshot has no chain")
            }
            try check(chain.count, limit: Limits.chainBytes, entry: BundleFormat.chain, file: name)
            entries.append(Self.describe(BundleFormat.chain, chain))
        }
        let present = Set(files.lazy.filter { $0.omitted == nil }.map(\.sha256)).count
        let omitted = Set(files.lazy.filter { $0.omitted != nil }.map(\.sha256)).count
        guard present <= Limits.attachments else {
            throw Failure(
                .overLimit, file: name, expected: "at most \(Limits.attachments) attachments (Limits.attachments)",
                found: "\(present)")
        }
        return Manifest(
            head: BundleHead(
                collection: snapshot.collection, timestamp: timestamp, records: snapshot.records.count,
                attachments: present,
                omitted: omitted, trust: snapshot.provenance.kind),
            entries: entries, files: files)
    }

    private func files(of records: RecordTable, _ name: String) throws(Failure) -> [Manifest.File] {
        var files = try Manifest.files(namedBy: records, file: name)
        for index in files.indices {
            let file = files[index]
            switch sources[file.sha256] {
            case nil:
                throw Failure(
                    .usage, file: name, entry: BundleFormat.attachmentPrefix + file.sha256.hex,
                    found: "neither the bytes of \(file.location) nor a reason for its omission was given")
            case .omitted(let reason): files[index] = Manifest.file(file, omitted: reason)
            default: try check(file.size, limit: Limits.attachmentBytes, entry: file.location, file: name)
            }
        }
        let named = Set(files.lazy.map(\.sha256))
        if let extra = sources.keys.filter({ !named.contains($0) }).min() {
            throw Failure(
                .usage, file: name, entry: BundleFormat.attachmentPrefix + extra.hex,
                found: "no record has this attachment")
        }
        return files
    }

    private static func describe(_ name: String, _ bytes: Bytes) -> Manifest.Entry {
        Manifest.Entry(name: name, size: bytes.count, sha256: SHA256Digest(hashing: bytes))
    }
}

/// The properties of a bundle's file, as listed in the lock file.
package struct WrittenBundle: Hashable, Sendable {
    /// The size of the file in bytes.
    package let size: Int
    /// The SHA-256 of the file.
    package let sha256: SHA256Digest
    /// The SHA-256 of the manifest, which identifies the snapshot, regardless of the compressor that wrote the bundle.
    package let content: SHA256Digest
    package let manifest: Manifest

    package init(size: Int, sha256: SHA256Digest, content: SHA256Digest, manifest: Manifest) {
        self.size = size
        self.sha256 = sha256
        self.content = content
        self.manifest = manifest
    }
}

/// The source of an attachment's bytes, or the reason why the bundle does not contain them.
package enum AttachmentInput: Sendable {
    case bytes(Bytes)
    /// A regular file, which is read while the bundle is being written.
    case file(path: String)
    /// The attachment with the same hash in another bundle.
    case bundle(BundleReader)
    case omitted(OmissionReason)
}

extension BundleReader {
    /// Returns the inputs for a bundle with the same attachments: those of this bundle, or the reasons for their
    /// omission.
    ///
    /// - Throws: ``Failure`` if the manifest cannot be read.
    package func attachmentInputs() throws(Failure) -> [SHA256Digest: AttachmentInput] {
        let inputs = try manifest().files.map { file in
            (file.sha256, file.omitted.map(AttachmentInput.omitted) ?? .bundle(self))
        }
        return Dictionary(inputs) { first, _ in first }
    }
}

/// A payload in the form in which a bundle contains it, compressed if that makes it smaller. Because compression takes
/// long, it is created while the snapshot's attachments are still being downloaded.
package struct PackedRecords: Sendable {
    let content: PackedContent
    let bytes: Bytes

    /// Compresses a payload.
    ///
    /// - Returns: `nil` if the payload is so large that it is written block by block.
    /// - Throws: ``Failure`` if there is not enough memory.
    package init?(_ payload: Payload) throws(Failure) {
        guard payload.bytes.count <= EntryWriter.wholeTrial else { return nil }
        let file = BundleFormat.records
        var deflated: [UInt8] = []
        let crc = try PayloadBlocks(payload, file: file).write(file: file) { (block) throws(Failure) in
            deflated.append(contentsOf: block)
        }
        let isStored = deflated.count >= payload.bytes.count
        content = PackedContent(isStored: isStored, size: payload.bytes.count, crc: crc)
        bytes = isStored ? payload.bytes : Bytes(deflated)
    }
}
