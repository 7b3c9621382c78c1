import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Attachments are written into the storage directory under temporary names. They get their final names only if size
/// and hash are the record's.
extension LocalCollection {
    /// How often an attachment is asked for that arrives whole but wrong.
    private static var tries: Int { 3 }

    /// Downloads an attachment. Concurrent calls for one attachment share one download.
    ///
    /// - Parameter client: the client of the run that the download belongs to; `nil` if the download is a run of its
    ///   own.
    /// - Returns: the file's path.
    func download(
        _ wanted: WantedAttachment, by client: ServerClient? = nil,
        progress: (@Sendable (AttachmentProgress) -> Void)? = nil
    ) async throws(RemoteSettingsError) -> String {
        let path = session.storage.attachmentPath(id, wanted.digest)
        try await session.downloads.run(path, outlivesCaller: false, progress: progress) { [self] progress in
            // Another download may have ended since the caller looked.
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
                } catch let error as HTTPError where error.code == .content && attempt < Self.tries {
                    session.logger.info("attempt \(attempt) failed, retrying: \(error)")
                }
            }
        } catch {
            if let base { await session.attachmentsURL.forget(base) }
            session.keepBackoff(client)
            let isWrong = (error as? HTTPError)?.code == .content
            session.report(
                "\(id)", isWrong ? .contentError : .downloadError, .manual, since: began, error: error)
            throw RemoteSettingsError(error)
        }
    }

    /// - Parameter held: what a delta is asked for to.
    /// - Returns: the bytes that a delta saved.
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

    /// Takes an attachment out of a bundle.
    ///
    /// - Returns: whether the bundle has it.
    func extract(_ wanted: WantedAttachment, from bundle: BundleReader) throws -> Bool {
        let part = try AttachmentPart(wanted.digest, of: id, in: session.storage)
        defer { part.remove() }
        var received = 0
        // Throws if the bytes do not have the hash.
        let isThere = try bundle.streamAttachment(wanted.digest) { piece in
            try part.file.write(piece)
            received += piece.count
        }
        guard isThere, received == wanted.size else { return false }
        try part.finish()
        return true
    }

    /// Stores bytes whose hash has been checked.
    func keep(_ bytes: Bytes, as digest: SHA256Digest) throws {
        let part = try AttachmentPart(digest, of: id, in: session.storage)
        defer { part.remove() }
        try part.file.write(bytes)
        try part.finish()
    }

    /// Keeps an attachment when no record has it any more, or does not. It need not be stored.
    func keep(_ digest: SHA256Digest, _ isKept: Bool) throws {
        guard session.storage.index()[key].kept.contains(digest) != isKept else { return }
        let (_, problem) = try session.storage.update(waiting: .long) { index in
            if isKept { index[key].kept.insert(digest) } else { index[key].kept.remove(digest) }
        }
        if let problem { throw problem }
    }

    /// Removes an attachment, kept or not.
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

    init(_ digest: SHA256Digest, of id: CollectionID, in storage: StorageDirectory) throws(BundleError) {
        try storage.prepare()
        root = storage.path
        target = storage.attachmentPath(id, digest)
        path = FileStore.uniquePath(target) + ".part"
        file = try WritableFile(creating: path, below: root)
    }

    /// Gives the file its final name.
    func finish() throws(BundleError) {
        try file.finish(flushing: true)
        try FileStore.rename(path, to: target, below: root)
    }

    /// Removes the file unless it has its final name.
    func remove() {
        file.abandon()
        try? FileStore.remove(path, below: root)
    }
}
