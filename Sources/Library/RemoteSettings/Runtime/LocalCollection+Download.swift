import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Attachments are written to the storage directory under temporary names. They are renamed only after their size and
/// hash have been checked against the record.
extension LocalCollection {
    /// The maximum number of downloads of an attachment that arrives complete but with a wrong hash.
    private static var tries: Int { 3 }

    /// Downloads an attachment. Concurrent calls for the same attachment share one download.
    ///
    /// - Parameter client: the client of the run that the download belongs to; `nil` to start a separate run.
    /// - Returns: the file's path.
    func download(
        _ wanted: WantedAttachment, by client: ServerClient? = nil,
        progress: (@Sendable (AttachmentProgress) -> Void)? = nil
    ) async throws(RemoteSettingsError) -> String {
        let path = session.storage.attachmentPath(id, wanted.digest)
        try await session.downloads.run(path, outlivesCaller: false, progress: progress) { [self] progress in
            // Another download may have finished since the caller checked.
            if isCached(wanted) { return .success(()) }
            do throws(RemoteSettingsError) {
                try session.checkNetwork(id)
                let client = if let client { client } else { try session.startingRun() }
                return .success(try await fetch(wanted, by: client, progress: progress))
            } catch {
                return .failure(error)
            }
        }.get()
        return path
    }

    private func fetch(
        _ wanted: WantedAttachment, by client: ServerClient, progress: @Sendable (AttachmentProgress) -> Void
    ) async throws(RemoteSettingsError) {
        let began = session.now
        var base: AttachmentsURL?
        do {
            let url = try await session.attachmentsURL.value(client)
            base = url
            for attempt in 1... {
                do {
                    let held = attempt == 1 ? heldFile(for: wanted) : nil
                    let saved = try await receive(wanted, from: client, at: url, held: held, progress: progress)
                    if saved > 0 { session.report("\(id)", .success, .manual, since: began, savedBytes: saved) }
                    break
                } catch let error as Failure where error.code == .content && attempt < Self.tries {
                    session.logger.info("attempt \(attempt) failed, retrying: \(error)")
                }
            }
        } catch {
            if let base { await session.attachmentsURL.forget(base) }
            session.keepBackoff(client)
            let isWrong = (error as? Failure)?.code == .content
            session.report("\(id)", isWrong ? .contentError : .downloadError, .manual, since: began, error: error)
            throw RemoteSettingsError(error)
        }
    }

    /// Downloads an attachment, if possible as a delta.
    ///
    /// - Parameter held: the stored file that serves as the base of a delta; `nil` to request the whole attachment.
    /// - Returns: the number of bytes saved by the delta.
    private func receive(
        _ wanted: WantedAttachment, from client: ServerClient, at base: AttachmentsURL, held: HeldFile?,
        progress: @Sendable (AttachmentProgress) -> Void
    ) async throws -> Int {
        let part = try AttachmentPart(wanted.digest, of: id, in: session.storage)
        defer { part.remove() }
        var received = 0
        let saved = try await client.attachment(
            wanted.location, at: base, size: wanted.size, digest: wanted.digest, held: held
        ) { piece in
            switch piece {
            case .start(let offset) where offset == received: break
            case .start:
                try part.file.restart()
                received = 0
            case .bytes(let bytes):
                try part.file.write(bytes)
                received += bytes.count
                progress(AttachmentProgress(received: UInt64(received), total: UInt64(clamping: wanted.size)))
            }
        }
        try part.finish()
        return saved
    }

    /// Extracts an attachment from a bundle into the storage directory.
    ///
    /// - Returns: whether the bundle contains it with the right size.
    func extract(_ wanted: WantedAttachment, from bundle: BundleReader) throws -> Bool {
        let part = try AttachmentPart(wanted.digest, of: id, in: session.storage)
        defer { part.remove() }
        var received = 0
        // `streamAttachment` throws if the bytes do not match the hash.
        let isThere = try bundle.streamAttachment(wanted.digest) { piece in
            try part.file.write(piece)
            received += piece.count
        }
        guard isThere, received == wanted.size else { return false }
        try part.finish()
        return true
    }

    /// Stores bytes whose hash has already been checked.
    func keep(_ bytes: Bytes, as digest: SHA256Digest) throws {
        let part = try AttachmentPart(digest, of: id, in: session.storage)
        defer { part.remove() }
        try part.file.write(bytes)
        try part.finish()
    }

    /// Sets whether an attachment is kept after no record refers to it any more. The attachment need not be stored yet.
    func keep(_ digest: SHA256Digest, _ isKept: Bool) throws {
        guard session.storage.index()[key].kept.contains(digest) != isKept else { return }
        let (_, problem) = try session.storage.update(waiting: .long, mustBeStored: true) { index in
            if isKept { index[key].kept.insert(digest) } else { index[key].kept.remove(digest) }
        }
        if let problem { throw problem }
    }

    /// Removes an attachment, even if it is marked to be kept.
    func remove(_ digest: SHA256Digest) throws {
        try session.storage.prepare()
        try keep(digest, false)
        try FileStore.remove(session.storage.attachmentPath(id, digest), below: session.storage.path)
    }
}

/// An attachment's file while it is being written, under a name that no other task or process uses.
private struct AttachmentPart {
    let file: WritableFile
    private let path: String
    private let target: String
    private let root: String

    init(_ digest: SHA256Digest, of id: CollectionID, in storage: StorageDirectory) throws(Failure) {
        try storage.prepare()
        root = storage.path
        target = storage.attachmentPath(id, digest)
        path = FileStore.uniquePath(target) + ".part"
        file = try WritableFile(creating: path, below: root)
    }

    /// Flushes the file and renames it to its final name.
    func finish() throws(Failure) {
        try file.finish(flushing: true)
        try FileStore.rename(path, to: target, below: root)
    }

    /// Removes the file unless it was renamed to its final name.
    func remove() {
        file.abandon()
        try? FileStore.remove(path, below: root)
    }
}
