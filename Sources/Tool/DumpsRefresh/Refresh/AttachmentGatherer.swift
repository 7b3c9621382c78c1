import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The fourth stage of a refresh: collects every attachment, by its hash, from the nearest source.
///
/// The sources are, in this order: the present bundle, the downloads of an interrupted refresh, the server's zip if it
/// has one and many attachments are missing, and single downloads. Everything is checked against the size and hash in
/// the verified record.
struct AttachmentGatherer: Sendable {
    /// The server's zip is downloaded if more than this many attachments are missing.
    static let zipThreshold = 16
    /// Attachments up to this size, in bytes, are held in memory while they arrive.
    private static let smallSize = 1 << 20

    let client: ServerClient
    let directory: DumpsDirectory
    let gate: RequestGate
    let attachmentsURL: AttachmentsURLSource
    let deflaters: DeflaterPool
    /// The most attachments of a collection that are prepared for the gate at once.
    let width: Int
    let limits: Limits
    let onEvent: @Sendable (RefreshEvent) -> Void

    /// Asks the server for the address of its attachments if one of these records has an attachment that the present
    /// bundle does not have. The certificate chain may be fetched meanwhile, which saves a round trip.
    func prepare(for records: RecordTable, rule: AttachmentRule, base: BundleReader?) {
        if case .none = rule.selection { return }
        let isNeeded = records.contains { record in
            guard let attachment = try? record.attachment() else { return false }
            return base?.contains(attachment.hash) != true
        }
        if isNeeded { attachmentsURL.prepare(client) }
    }

    /// - Parameter isDoubtful: whether `base` may be damaged, so that what it has is read before it is kept.
    /// - Returns: the source of every wanted attachment. One that cannot be fetched is an error.
    func gather(
        _ wanted: [WantedAttachment], of id: CollectionID, base: BundleReader?, isDoubtful: Bool, hasZip: Bool,
        into outcome: inout CollectionOutcome
    ) async throws -> [SHA256Digest: AttachmentInput] {
        var sources: [SHA256Digest: AttachmentInput] = [:]
        var missing: [WantedAttachment] = []
        guard !wanted.isEmpty else { return sources }
        let staged = try StagedAttachments(path: directory.stagedPath(id))
        for attachment in wanted {
            if let base, try base.attachmentSize(attachment.digest) == attachment.size,
                !isDoubtful || (try? base.streamAttachment(attachment.digest) { _ in }) == true
            {
                sources[attachment.digest] = .bundle(base)
                outcome.attachments.reused += 1
            } else if let source = try staged.source(of: attachment.digest, size: attachment.size) ?? large(attachment)
            {
                sources[attachment.digest] = source
                outcome.attachments.resumed += 1
            } else {
                missing.append(attachment)
            }
        }
        guard !missing.isEmpty else { return sources }
        onEvent(.downloading(id, files: missing.count, bytes: missing.saturatingSum { UInt64(clamping: $0.size) }))
        for attachment in missing where attachment.size > limits.attachmentBytes {
            throw CollectionError.attachment(
                location: attachment.location, record: attachment.record,
                problem: "it has \(attachment.size) bytes, more than the limit of \(limits.attachmentBytes); "
                    + "leave it out with max-size in dumps.yaml")
        }
        let base = try await attachmentsURL.value(client)
        if hasZip, missing.count > Self.zipThreshold {
            let count = missing.count
            missing = try await takeFromZip(
                missing, of: id, at: base, into: staged, notes: &outcome.notes, sources: &sources)
            outcome.attachments.fromZip = count - missing.count
        }
        try await download(missing, of: id, at: base, into: staged)
        for attachment in missing {
            sources[attachment.digest] =
                try staged.source(of: attachment.digest, size: attachment.size)
                ?? .file(path: directory.stagedPath(attachment.digest))
            outcome.attachments.downloaded += 1
            outcome.attachments.downloadedBytes = outcome.attachments.downloadedBytes.saturatingAdding(
                UInt64(clamping: attachment.size))
        }
        return sources
    }

    /// A large attachment that an interrupted refresh left.
    private func large(_ attachment: WantedAttachment) throws -> AttachmentInput? {
        // Smaller ones are all in one file, which was read before.
        guard attachment.size > Self.smallSize else { return nil }
        let path = directory.stagedPath(attachment.digest)
        guard try FileStore.size(path) == attachment.size else { return nil }
        guard try FileStore.digest(of: path) == attachment.digest else {
            try FileStore.remove(path)
            return nil
        }
        return .file(path: path)
    }
}

extension AttachmentGatherer {
    private func download(
        _ missing: [WantedAttachment], of id: CollectionID, at base: AttachmentsURL, into staged: StagedAttachments
    ) async throws {
        _ = try await missing.concurrentMap(width: width) { next in
            try await downloadOne(next, of: id, at: base, into: staged)
        }
    }

    private func downloadOne(
        _ attachment: WantedAttachment, of id: CollectionID, at base: AttachmentsURL, into staged: StagedAttachments
    ) async throws {
        try await gate.pass(to: base.url) {
            do {
                if attachment.size <= Self.smallSize {
                    try await downloadSmall(attachment, of: id, at: base, into: staged)
                } else {
                    try await downloadLarge(attachment, of: id, at: base)
                }
            } catch let error as HTTPError where error.category == .answer {
                throw CollectionError.attachment(
                    location: attachment.location, record: attachment.record, problem: "\(error)")
            }
        }
        onEvent(.downloaded(id))
    }

    private func downloadSmall(
        _ attachment: WantedAttachment, of id: CollectionID, at base: AttachmentsURL, into staged: StagedAttachments
    ) async throws {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(attachment.size)
        try await client.attachment(attachment.location, at: base, size: attachment.size) { part in
            switch part {
            case .start(let start): bytes.removeSubrange(min(start.offset, bytes.count)...)
            case .bytes(let piece):
                bytes.append(contentsOf: piece)
                onEvent(.received(id, bytes: piece.count))
            }
        }
        let content = Bytes(bytes)
        try check(attachment, size: content.count, digest: SHA256Digest(hashing: content))
        // At once, while others are on their way, and inside of the gate: so few are in memory together.
        try stage(content, of: attachment, in: staged)
    }

    private func stage(_ content: Bytes, of attachment: WantedAttachment, in staged: StagedAttachments) throws {
        let (form, packed) = try deflaters.pack(content, for: attachment.location)
        try staged.append(form, packed, as: attachment.digest)
    }

    /// Streams to the disk while hashing, and resumes the download of an interrupted run.
    private func downloadLarge(_ attachment: WantedAttachment, of id: CollectionID, at base: AttachmentsURL)
        async throws
    {
        let path = directory.partPath(attachment.digest)
        var hasher = ContentHasher()
        var offset = 0
        if let size = try FileStore.size(path), size > 0, size < attachment.size {
            (hasher, offset) = try FileStore.hash(path)
            onEvent(.received(id, bytes: offset))
        } else {
            try FileStore.remove(path)
        }
        let resume = offset > 0 ? ResumePoint(offset: offset) : nil
        let file = try WritableFile(appendingTo: path)
        defer { file.abandon() }
        try await client.attachment(attachment.location, at: base, size: attachment.size, resume: resume) { part in
            switch part {
            case .start(let start) where start.offset == offset: break
            case .start:
                try file.restart()
                hasher = ContentHasher()
                offset = 0
            case .bytes(let piece):
                try file.write(piece)
                hasher.update(piece.span)
                offset += piece.count
                onEvent(.received(id, bytes: piece.count))
            }
        }
        try file.finish(flushing: false)
        do throws(CollectionError) {
            try check(attachment, size: offset, digest: hasher.finish())
        } catch {
            try FileStore.remove(path)
            throw error
        }
        guard systemRename(path, directory.stagedPath(attachment.digest)) == 0 else { throw FileError("rename", path) }
    }

    private func check(_ attachment: WantedAttachment, size: Int, digest: SHA256Digest) throws(CollectionError) {
        func wrong(_ expected: String, _ found: String) -> CollectionError {
            .attachment(
                location: attachment.location, record: attachment.record,
                problem: "expected \(expected) as the record says, found \(found); the present bundle is kept, "
                    + "try again later")
        }
        guard size == attachment.size else { throw wrong("\(attachment.size) bytes", "\(size)") }
        guard digest == attachment.digest else {
            throw wrong("SHA-256 \(attachment.digest)", "\(digest)")
        }
    }

    /// Takes attachments from the server's zip. The zip is only a cache: if it lags, is damaged or missing, a note says
    /// so, and the remaining attachments are downloaded one by one.
    ///
    /// - Returns: what is still missing.
    private func takeFromZip(
        _ missing: [WantedAttachment], of id: CollectionID, at base: AttachmentsURL, into staged: StagedAttachments,
        notes: inout [String], sources: inout [SHA256Digest: AttachmentInput]
    ) async throws -> [WantedAttachment] {
        let path = directory.serverZIPPath(id)
        var taken: Set<SHA256Digest> = []
        do {
            try await downloadZip(of: id, at: base, to: path)
            let zip = try AttachmentsZIP(path: path, limits: limits)
            for attachment in missing {
                guard let content = zip.file(of: attachment.record, size: attachment.size),
                    SHA256Digest(hashing: content) == attachment.digest
                else { continue }
                try stage(content, of: attachment, in: staged)
                taken.insert(attachment.digest)
                onEvent(.downloaded(id))
            }
            let lacking = missing.count - taken.count
            if lacking > 0 {
                notes.append("the server's zip lacks \(lacking) of \(Counted.text(missing.count, "attachment"))")
            }
        } catch let error as HTTPError where error.category != .backoff && error.category != .cancelled {
            notes.append("the server's zip could not be fetched (\(error)); attachments were fetched one by one")
        } catch let error as BundleError {
            // The file is a temporary one, so the usual advice to restore it would be wrong.
            notes.append("the server's zip is damaged (\(error.problem)); attachments were fetched one by one")
        }
        try FileStore.remove(path)
        for attachment in missing where taken.contains(attachment.digest) {
            sources[attachment.digest] = try staged.source(of: attachment.digest, size: attachment.size)
        }
        return missing.filter { !taken.contains($0.digest) }
    }

    private func downloadZip(of id: CollectionID, at base: AttachmentsURL, to path: String) async throws {
        let file = try WritableFile(creating: path)
        defer { file.abandon() }
        var offset = 0
        try await gate.pass(to: base.url) {
            try await client.attachmentsZip(id, at: base) { part in
                switch part {
                case .start(let start) where start.offset == offset: break
                case .start:
                    try file.restart()
                    offset = 0
                case .bytes(let piece):
                    try file.write(piece)
                    offset += piece.count
                    onEvent(.received(id, bytes: piece.count))
                }
            }
        }
        try file.finish(flushing: false)
    }
}
