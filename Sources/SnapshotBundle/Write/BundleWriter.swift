import Deflate
import RemoteSettingsModel

/// Writes a verified snapshot as a bundle of format 1.
///
/// The same snapshot, attachments and options give the same bytes, whatever the time zone, locale, mask, directory,
/// thread or order in which attachments came (with the same zlib: other versions may compress differently, which leaves
/// the manifest and so ``WrittenBundle/content`` as they are).
public struct BundleWriter: Sendable {
    /// How `records.json` is put into the bundle.
    public enum RecordsStorage: Sendable {
        /// Smallest file.
        case deflated
        /// Read in place, without inflating.
        case stored
    }

    private let snapshot: Snapshot
    private let sources: [SHA256Digest: AttachmentInput]
    private let storage: RecordsStorage
    private let packedRecords: PackedRecords?
    private let limits: Limits

    /// - Parameters:
    ///   - attachments: for each attachment that the snapshot's records name, by its hash, its bytes or why it is left
    ///     out. Size, hash, location and record ids come from the records.
    ///   - packedRecords: this snapshot's, where they are ready; used where `records.json` is to be deflated. They are not
    ///     compared with the snapshot again: ``BundleReader/verifyContents()`` over the finished bundle does that.
    public init(
        _ snapshot: Snapshot, attachments: [SHA256Digest: AttachmentInput],
        records storage: RecordsStorage = .deflated, packedRecords: PackedRecords? = nil, limits: Limits = Limits()
    ) {
        self.snapshot = snapshot
        self.packedRecords = packedRecords
        sources = attachments
        self.storage = storage
        self.limits = limits
    }

    /// Writes the bundle to a new file and brings it to the disk. Does I/O.
    ///
    /// Write to a temporary file beside the bundle and rename it: a bundle that is in use must not be written to.
    ///
    /// - Throws: ``BundleError``; then there is no file.
    public func write(toNewFile path: String) throws(BundleError) -> WrittenBundle {
        try OutputFile.create(path: path) { (descriptor) throws(BundleError) in
            try write(toDescriptor: descriptor, name: path)
        }
    }

    /// Writes the bundle to an open file, from its current place on. Does I/O.
    ///
    /// - Parameter name: the file's name for error messages.
    /// - Throws: ``BundleError``; then what was written so far is worthless.
    public func write(toDescriptor descriptor: Int32, name: String) throws(BundleError) -> WrittenBundle {
        let manifest = try manifest(name)
        let text = Bytes(manifest.text)
        try check(text.count, limits.manifestBytes, BundleFormat.manifest, name)
        let deflater = try Deflater.forBundles(name)
        let output = OutputFile(descriptor: descriptor, name: name)
        let archive = ZIPArchive(output)
        let content = SHA256Digest(hashing: text)
        let writer = EntryWriter(archive: archive, deflater: deflater)
        try writer.write(entry(BundleFormat.manifest, text, content, name), isStored: true)
        if storage == .deflated, let packedRecords {
            guard packedRecords.content.size == snapshot.payload.bytes.count else {
                throw BundleError(
                    .wrongSource, file: name, entry: BundleFormat.records,
                    expected: "\(snapshot.payload.bytes.count) bytes", found: "\(packedRecords.content.size)")
            }
            try writer.write(BundleFormat.records, packedRecords.content, packedRecords.bytes)
        } else {
            try writer.write(
                entry(BundleFormat.records, snapshot.payload.bytes, manifest.entries[0].sha256, name),
                isStored: storage == .stored)
        }
        try writer.write(entry(BundleFormat.metadata, snapshot.metadata.json, manifest.entries[1].sha256, name))
        if let chain = snapshot.chain, manifest.entries.count > 2 {
            try writer.write(entry(BundleFormat.chain, chain, manifest.entries[2].sha256, name))
        }
        var previous: SHA256Digest?
        for file in manifest.files where file.omitted == nil && file.sha256 != previous {
            previous = file.sha256
            guard let source = sources[file.sha256] else { continue }
            try writer.write(
                EntrySource(
                    name: BundleFormat.attachmentPrefix + file.sha256.hex, size: file.size, sha256: file.sha256,
                    source: source, file: name))
        }
        try archive.close()
        return WrittenBundle(size: output.size, sha256: output.digest(), content: content, manifest: manifest)
    }

    private func entry(_ entry: String, _ bytes: Bytes, _ sha256: SHA256Digest, _ name: String) -> EntrySource {
        EntrySource(name: entry, size: bytes.count, sha256: sha256, source: .bytes(bytes), file: name)
    }

    /// Whatever a reader would refuse is refused here, before anything is written.
    private func check(_ size: Int, _ limit: Int, _ entry: String, _ name: String) throws(BundleError) {
        guard size <= limit else {
            throw BundleError(
                .overLimit, file: name, entry: entry, expected: "at most \(limit) bytes", found: "\(size)")
        }
    }
}

extension BundleWriter {
    private func manifest(_ name: String) throws(BundleError) -> Manifest {
        let timestamp = snapshot.timestamp
        guard timestamp.milliseconds < 1_000_000_000_000_000_000 else {
            throw BundleError(
                .wrongSource, file: name, entry: BundleFormat.manifest, expected: "a timestamp of at most 18 digits",
                found: "\(timestamp)")
        }
        try check(snapshot.payload.bytes.count, limits.changesetBytes, BundleFormat.records, name)
        try check(snapshot.metadata.json.count, limits.metadataBytes, BundleFormat.metadata, name)
        let files = try files(of: snapshot.records, name)
        var entries = [
            Self.describe(BundleFormat.records, snapshot.payload.bytes),
            Self.describe(BundleFormat.metadata, snapshot.metadata.json),
        ]
        if snapshot.provenance.isSigned {
            guard let chain = snapshot.chain else {
                throw BundleError(
                    .wrongSource, file: name, entry: BundleFormat.chain, expected: "a signed snapshot's chain",
                    found: "none")
            }
            try check(chain.count, limits.chainBytes, BundleFormat.chain, name)
            entries.append(Self.describe(BundleFormat.chain, chain))
        }
        let present = Set(files.lazy.filter { $0.omitted == nil }.map(\.sha256)).count
        let omitted = Set(files.lazy.filter { $0.omitted != nil }.map(\.sha256)).count
        guard present <= limits.attachments else {
            throw BundleError(
                .overLimit, file: name, expected: "at most \(limits.attachments) attachments (Limits.attachments)",
                found: "\(present)")
        }
        return Manifest(
            head: BundleHead(
                collection: snapshot.collection, timestamp: timestamp, records: snapshot.records.count,
                attachments: present,
                omitted: omitted, trust: snapshot.provenance.kind),
            entries: entries, files: files)
    }

    private func files(of records: RecordTable, _ name: String) throws(BundleError) -> [Manifest.File] {
        var files = try Manifest.files(namedBy: records, file: name, limits: limits)
        for index in files.indices {
            let file = files[index]
            switch sources[file.sha256] {
            case nil:
                throw BundleError(
                    .wrongSource, file: name, entry: BundleFormat.attachmentPrefix + file.sha256.hex,
                    expected: "the bytes of \(file.location), or a reason to leave it out", found: "neither")
            case .omitted(let reason): files[index] = Manifest.file(file, omitted: reason)
            default: try check(file.size, limits.attachmentBytes, file.location, name)
            }
        }
        let named = Set(files.lazy.map(\.sha256))
        if let extra = sources.keys.filter({ !named.contains($0) }).min() {
            throw BundleError(
                .wrongSource, file: name, entry: BundleFormat.attachmentPrefix + extra.hex,
                expected: "an attachment that a record names", found: "one that none names")
        }
        return files
    }

    private static func describe(_ name: String, _ bytes: Bytes) -> Manifest.Entry {
        Manifest.Entry(name: name, size: bytes.count, sha256: SHA256Digest(hashing: bytes))
    }
}

/// A bundle as a file: what the lock keeps of it.
public struct WrittenBundle: Hashable, Sendable {
    /// Bytes of the file.
    public let size: Int
    /// Of the file.
    public let sha256: SHA256Digest
    /// Of the manifest: what names the snapshot, whatever compressor was used.
    public let content: SHA256Digest
    public let manifest: Manifest

    package init(size: Int, sha256: SHA256Digest, content: SHA256Digest, manifest: Manifest) {
        self.size = size
        self.sha256 = sha256
        self.content = content
        self.manifest = manifest
    }
}

/// Where a bundle takes an attachment's bytes from, or why it does without them.
public enum AttachmentInput: Sendable {
    case bytes(Bytes)
    /// A regular file, which is read while the bundle is written.
    case file(path: String)
    /// What was compressed before, and is copied while the bundle is written.
    case packed(PackedAttachment)
    /// The attachment of the same hash in another bundle.
    case bundle(BundleReader)
    case omitted(OmissionReason)
}

/// A payload as the bundle will hold it, made ready while the snapshot's attachments are still on their way: of all that a
/// bundle is packed of, it takes longest.
public struct PackedRecords: Sendable {
    let content: PackedContent
    let bytes: Bytes

    /// - Returns: `nil` where the payload is so large that the bundle's writer streams it.
    /// - Throws: ``BundleError`` where there is too little memory.
    package init?(_ payload: Payload, with deflaters: DeflaterPool) throws(BundleError) {
        guard payload.bytes.count <= EntryWriter.wholeTrial else { return nil }
        (content, bytes) = try deflaters.pack(payload.bytes, for: BundleFormat.records)
    }
}
