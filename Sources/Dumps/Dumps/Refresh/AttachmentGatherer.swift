import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// A type that gets each attachment of a collection, identified by its hash, from the nearest source.
///
/// The sources are, in this order: the current bundle; the downloads of an interrupted refresh; the server's ZIP file,
/// if there is one and many attachments are missing; and single downloads. If the server supports deltas, a single
/// download is a delta to the attachment of the same record in the current bundle. Everything is checked against the
/// size and the hash in the verified record. A download, complete or not, is stored in a file named after its hash.
struct AttachmentGatherer: Sendable {
    /// If more attachments than this are missing, the server's ZIP file is downloaded.
    static let zipThreshold = 16

    let client: ServerClient
    let directory: DumpsDirectory
    let gate: RequestGate
    let attachmentsURL: AttachmentsURLSource
    /// The maximum number of attachments of one collection that use or wait for the request gate at the same time.
    let width: Int
    let onEvent: @Sendable (RefreshEvent) -> Void
    /// The memory for deltas, enough for two of the maximum size.
    private let memory = SharedMemory(bytes: 2 * FileDelta.mostBytes)

    /// Gets attachments.
    ///
    /// - Parameters:
    ///   - base: the current bundle.
    ///   - isDoubtful: whether `base` may be damaged, so that its attachments must be checked before they are reused.
    /// - Returns: the source of every wanted attachment.
    /// - Throws: the error of the first attachment that cannot be fetched.
    func gather(
        _ wanted: [WantedAttachment], of id: CollectionID, from base: BundleReader?, isDoubtful: Bool, hasZip: Bool,
        into outcome: inout CollectionOutcome
    ) async throws -> [SHA256Digest: AttachmentInput] {
        var sources: [SHA256Digest: AttachmentInput] = [:]
        var missing: [WantedAttachment] = []
        for attachment in wanted {
            let path = directory.stagedPath(attachment.digest, of: id)
            if let base, try base.attachmentSize(attachment.digest) == attachment.size,
                !isDoubtful || (try? base.streamAttachment(attachment.digest) { _ in }) == true
            {
                sources[attachment.digest] = .bundle(base)
                outcome.attachments.reused += 1
                continue
            }
            sources[attachment.digest] = .file(path: path)
            if try FileStore.size(path) == attachment.size, try FileStore.digest(of: path) == attachment.digest {
                outcome.attachments.resumed += 1
            } else {
                missing.append(attachment)
            }
        }
        guard !missing.isEmpty else { return sources }
        onEvent(.downloading(id, files: missing.count, bytes: missing.saturatingSum { UInt64(clamping: $0.size) }))
        for attachment in missing where attachment.size > Limits.attachmentBytes {
            throw Failure.attachment(
                location: attachment.location, record: attachment.record,
                problem: "it is \(attachment.size) bytes, over the limit of \(Limits.attachmentBytes); "
                    + "exclude it with max-size in dumps.yaml")
        }
        try FileStore.makeDirectories(directory.stagedPath(id), below: directory.path)
        let url = try await attachmentsURL.value(client)
        if hasZip, missing.count > Self.zipThreshold {
            let count = missing.count
            missing = try await extractFromZip(missing, of: id, at: url, notes: &outcome.notes)
            outcome.attachments.fromZip = count - missing.count
        }
        let held = missing.isEmpty ? [:] : heldFiles(of: base)
        let saved = try await missing.concurrentMap(width: width) { next in
            try await download(next, of: id, at: url, from: base, held: held[next.record])
        }
        outcome.attachments.downloaded = missing.count
        outcome.attachments.savedBytes = saved.saturatingSum { UInt64(clamping: $0) }
        outcome.attachments.downloadedBytes = missing.saturatingSum { UInt64(clamping: $0.size) }
        return sources
    }

    /// Returns the files in a bundle, by the ids of the records that refer to them; empty if it cannot be read.
    private func heldFiles(of bundle: BundleReader?) -> [String: Manifest.File] {
        let files = (try? bundle?.manifest().files.filter { $0.omitted == nil }) ?? []
        return Dictionary(files.flatMap { file in file.records.map { ($0, file) } }) { first, _ in first }
    }

    /// Downloads an attachment.
    ///
    /// - Parameter held: the file of the same record in the current bundle.
    /// - Returns: the number of bytes saved by a delta.
    private func download(
        _ attachment: WantedAttachment, of id: CollectionID, at url: AttachmentsURL, from bundle: BundleReader?,
        held: Manifest.File?
    ) async throws -> Int {
        let saved = try await gate.pass(to: url.url) {
            do {
                guard let held, FileDelta.isWorthwhile(from: held.size, to: attachment.size) else {
                    return try await stream(attachment, of: id, at: url) { nil }
                }
                return try await memory.lend(held.size.saturatingAdding(attachment.size)) {
                    try await stream(attachment, of: id, at: url) {
                        guard let bytes = try? bundle?.attachment(held.sha256) else { return nil }
                        return HeldFile(bytes, digest: held.sha256, location: held.location, newer: attachment.digest)
                    }
                }
            } catch let error as Failure where !error.isOfSystem {
                let isOfServer = [.unreachable, .backoff, .cancelled].contains(FailureClass(error))
                if isOfServer || error.code == .usage { throw error }
                throw Failure.attachment(attachment, error)
            }
        }
        onEvent(.downloaded(id))
        return saved
    }

    /// Streams a file to disk. Resumes the download of an interrupted run.
    ///
    /// - Parameter held: the base of a delta. A delta is requested unless a part of the file has already been
    ///   downloaded.
    /// - Returns: the number of bytes saved by a delta.
    private func stream(
        _ attachment: WantedAttachment, of id: CollectionID, at base: AttachmentsURL, held: () -> HeldFile?
    ) async throws -> Int {
        let path = directory.stagedPath(attachment.digest, of: id)
        var resume: ResumePoint?
        var offset = 0
        if let size = try FileStore.size(path), size > 0, size < attachment.size {
            let found = try FileStore.hash(path)
            (resume, offset) = (ResumePoint(offset: found.size, hasher: found.hasher), found.size)
            onEvent(.received(id, bytes: offset))
        } else {
            try FileStore.remove(path)
        }
        let file = try WritableFile(appendingTo: path)
        defer { file.abandon() }
        do {
            let saved = try await client.attachment(
                attachment.location, at: base, size: attachment.size, digest: attachment.digest, resume: resume,
                held: resume == nil ? held() : nil
            ) { try write($0, of: id, to: file, at: &offset) }
            try file.finish(flushing: false)
            return saved
        } catch let error as Failure where error.code == .content {
            // Remove the wrong bytes, because the next run would resume after them.
            try FileStore.remove(path)
            throw error
        }
    }

    /// Extracts attachments from the server's ZIP file. The ZIP file is only a cache: if it is outdated, damaged or
    /// missing, a note reports that, and the remaining attachments are downloaded one by one.
    ///
    /// - Returns: the attachments that are still missing.
    private func extractFromZip(
        _ missing: [WantedAttachment], of id: CollectionID, at base: AttachmentsURL, notes: inout [String]
    ) async throws -> [WantedAttachment] {
        let path = directory.serverZIPPath(id)
        var lacking: [WantedAttachment] = []
        var isFetched = false
        do {
            try await downloadZip(of: id, at: base, to: path)
            isFetched = true
            let zip = try AttachmentsZIP(path: path)
            for attachment in missing {
                guard let content = zip.file(of: attachment.record, size: attachment.size),
                    SHA256Digest(hashing: content) == attachment.digest
                else {
                    lacking.append(attachment)
                    continue
                }
                let file = try WritableFile(creating: directory.stagedPath(attachment.digest, of: id))
                try file.write(content)
                try file.finish(flushing: false)
                onEvent(.downloaded(id))
            }
            if !lacking.isEmpty {
                notes.append(
                    "the server's zip is missing \(lacking.count) of \(Counted.text(missing.count, "attachment"))")
            }
        } catch let error as Failure where !error.isOfSystem && error.hold == nil && error.code != .cancelled {
            // The advice to restore the file does not apply to a temporary file.
            let problem = isFetched ? "is damaged (\(error.sentence))" : "could not be fetched (\(error))"
            notes.append("the server's zip \(problem); attachments were fetched one by one")
            lacking = missing
        }
        try FileStore.remove(path)
        return lacking
    }

    private func write(
        _ part: DownloadPart, of id: CollectionID, to file: WritableFile, at offset: inout Int
    ) throws(Failure) {
        switch part {
        case .start(let start) where start == offset: break
        case .start:
            try file.restart()
            onEvent(.received(id, bytes: -offset))
            offset = 0
        case .bytes(let bytes):
            try file.write(bytes)
            offset += bytes.count
            onEvent(.received(id, bytes: bytes.count))
        }
    }

    private func downloadZip(of id: CollectionID, at base: AttachmentsURL, to path: String) async throws {
        let file = try WritableFile(creating: path)
        defer { file.abandon() }
        var offset = 0
        try await gate.pass(to: base.url) {
            try await client.attachmentsZip(id, at: base) { try write($0, of: id, to: file, at: &offset) }
        }
        try file.finish(flushing: false)
    }
}
