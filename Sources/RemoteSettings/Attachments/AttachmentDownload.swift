import FileStorage
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Brings attachments into the storage directory: streamed to a file of its own beside, hashed as it flows, and given its
/// name only where size and hash are the record's.
struct AttachmentDownload: Sendable {
    /// How often one that came whole but wrong is asked for.
    private static var tries: Int { 3 }

    private let session: Session
    private let id: CollectionID

    init(_ session: Session, _ id: CollectionID) {
        self.session = session
        self.id = id
    }

    /// - Returns: the file's path.
    func download(
        _ wanted: WantedAttachment, progress: (@Sendable (AttachmentProgress) -> Void)?
    ) async throws(RemoteSettingsError) -> String {
        let client = try session.client()
        let began = session.now
        do {
            let base = try await session.attachmentsURL(client).value()
            for attempt in 1... {
                do {
                    try await receive(wanted, from: client, at: base, progress: progress)
                    break
                } catch let error as WrongAttachment {
                    guard attempt < Self.tries else { throw error }
                    session.logger.info("attempt \(attempt) failed, trying again: \(error)")
                }
            }
        } catch {
            session.keepBackoff(client)
            let status: UptakeEvent.Status = error is WrongAttachment ? .contentError : .downloadError
            session.report("\(id)", status, .manual, nil, began, error)
            throw RemoteSettingsError(error)
        }
        return session.storage.attachmentPath(id, wanted.digest)
    }

    private func receive(
        _ wanted: WantedAttachment, from client: ServerClient, at base: AttachmentsURL,
        progress: (@Sendable (AttachmentProgress) -> Void)?
    ) async throws {
        try prepare()
        let part = partPath(wanted.digest)
        let file = try WritableFile(creating: part)
        do {
            var hasher = ContentHasher()
            var received = 0
            try await client.attachment(wanted.location, at: base, size: wanted.size) { piece in
                switch piece {
                case .start(let start) where start.offset == received: break
                case .start:
                    try file.restart()
                    hasher = ContentHasher()
                    received = 0
                case .bytes(let bytes):
                    try file.write(bytes)
                    hasher.update(bytes.span)
                    received += bytes.count
                    progress?(AttachmentProgress(received: UInt64(received), total: UInt64(clamping: wanted.size)))
                }
            }
            try finish(file, part, wanted, received: received, digest: hasher.finish())
        } catch {
            file.abandon()
            try? FileStore.remove(part)
            throw error
        }
    }

    /// Takes an attachment out of a bundle.
    ///
    /// - Returns: whether the bundle has it, whole.
    func extract(_ wanted: WantedAttachment, from bundle: BundleReader) throws -> Bool {
        try prepare()
        let part = partPath(wanted.digest)
        let file = try WritableFile(creating: part)
        do {
            var received = 0
            let isThere = try bundle.streamAttachment(wanted.digest) { piece in
                try file.write(piece)
                received += piece.count
            }
            guard isThere else {
                file.abandon()
                try FileStore.remove(part)
                return false
            }
            try finish(file, part, wanted, received: received, digest: wanted.digest)
            return true
        } catch {
            file.abandon()
            try? FileStore.remove(part)
            throw error
        }
    }

    /// Keeps bytes whose hash has been checked.
    func keep(_ bytes: Bytes, as digest: SHA256Digest) throws {
        try prepare()
        let part = partPath(digest)
        let file = try WritableFile(creating: part)
        do {
            try file.write(bytes)
            try file.finish(flushing: true)
            try FileStore.rename(part, to: session.storage.attachmentPath(id, digest))
        } catch {
            file.abandon()
            try? FileStore.remove(part)
            throw error
        }
    }

    private func finish(
        _ file: WritableFile, _ part: String, _ wanted: WantedAttachment, received: Int, digest: SHA256Digest
    ) throws {
        guard received == wanted.size, digest == wanted.digest else {
            throw WrongAttachment(
                collection: id, wanted: wanted, received: received, digest: received == wanted.size ? digest : nil)
        }
        try file.finish(flushing: true)
        try FileStore.rename(part, to: session.storage.attachmentPath(id, wanted.digest))
    }

    func prepare() throws(FileError) {
        try session.storage.prepare()
        try FileStore.makeDirectories(session.storage.attachmentsPath(id))
    }

    /// A name that no other task or process uses.
    func partPath(_ digest: SHA256Digest) -> String {
        FileStore.uniquePath(session.storage.attachmentPath(id, digest)) + ".part"
    }
}

/// An attachment that came whole and is not the one that the record names.
struct WrongAttachment: Error, CustomStringConvertible {
    let collection: CollectionID
    let wanted: WantedAttachment
    let received: Int
    let digest: SHA256Digest?

    var description: String {
        let found = digest.map { "SHA-256 \($0)" } ?? "\(received) bytes"
        return "\(collection): attachment \(wanted.location) of record \(wanted.record): expected \(wanted.size) bytes "
            + "of SHA-256 \(wanted.digest) as the record says, found \(found); nothing was kept, try again later"
    }
}
