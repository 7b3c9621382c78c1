import FileStorage
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Finds the bytes of one collection's attachments in the nearest place.
struct AttachmentLoader: Sendable {
    let session: Session
    let state: CollectionState

    var id: CollectionID { state.id }

    init(_ session: Session, _ state: CollectionState) {
        self.session = session
        self.state = state
    }

    func wanted(_ record: RemoteSettingsRecord) throws(RemoteSettingsError) -> WantedAttachment {
        do throws(ChangesetError) {
            guard let attachment = try record.record.attachment() else {
                throw ChangesetError.invalidAttachment(record: record.id, problem: "it has none")
            }
            guard let size = Int(exactly: attachment.size), size <= session.limits.attachmentBytes else {
                throw ChangesetError.invalidAttachment(
                    record: record.id,
                    problem: "it has \(attachment.size) bytes, more than Limits.attachmentBytes")
            }
            return WantedAttachment(
                digest: attachment.hash, size: size, location: attachment.location, record: record.id)
        } catch {
            throw .Other(reason: "\(id): \(error)")
        }
    }

    func wanted(location: String) throws(RemoteSettingsError) -> WantedAttachment {
        for record in state.records(session) ?? [] {
            guard let wanted = try? wanted(record), wanted.location == location else { continue }
            return wanted
        }
        throw .Other(reason: "\(id): no record has an attachment at \(String(reflecting: location))")
    }

    /// What is here already, checked; `nil` where it is not.
    func local(_ wanted: WantedAttachment) -> AttachmentContent? {
        if let bytes = cached(wanted.digest, size: wanted.size) {
            return AttachmentContent(bytes: bytes, source: .cached)
        }
        for bundle in state.current(session).bundles {
            guard let bytes = packaged(wanted.digest, size: wanted.size, in: bundle) else { continue }
            return AttachmentContent(bytes: bytes, source: .packaged(bundle.sourceName))
        }
        return nil
    }

    /// - Throws: where it is neither here nor to be had.
    func content(_ wanted: WantedAttachment, staleFallback: Bool) async throws(RemoteSettingsError) -> AttachmentContent
    {
        if let local = local(wanted) { return local }
        do throws(RemoteSettingsError) {
            let path = try await download(wanted, progress: nil)
            guard let bytes = cached(wanted.digest, size: wanted.size) else {
                throw .Other(reason: "\(path): it was downloaded and is gone, or was changed; try again")
            }
            return AttachmentContent(bytes: bytes, source: .network)
        } catch {
            if staleFallback, let stale = stale(wanted) { return stale }
            throw error
        }
    }

    func file(
        _ wanted: WantedAttachment, staleFallback: Bool, progress: (@Sendable (AttachmentProgress) -> Void)?
    ) async throws(RemoteSettingsError) -> AttachmentFile {
        let path = session.storage.attachmentPath(id, wanted.digest)
        if isCached(wanted) { return AttachmentFile(path: path, source: .cached) }
        let download = AttachmentDownload(session, id)
        for bundle in state.current(session).bundles {
            guard let reader = try? bundle.reader(), reader.contains(wanted.digest) else { continue }
            // What cannot be taken out of a bundle is downloaded.
            if (try? download.extract(wanted, from: reader)) == true {
                return AttachmentFile(path: path, source: .packaged(bundle.sourceName))
            }
        }
        do throws(RemoteSettingsError) {
            return AttachmentFile(path: try await self.download(wanted, progress: progress), source: .network)
        } catch {
            guard staleFallback, let stale = stale(wanted) else { throw error }
            let digest = SHA256Digest(hashing: stale.bytes)
            if case .stalePackaged = stale.source, (try? download.keep(stale.bytes, as: digest)) == nil { throw error }
            return AttachmentFile(path: session.storage.attachmentPath(id, digest), source: stale.source)
        }
    }
}

extension AttachmentLoader {
    /// Calls at the same time for one attachment share one download.
    ///
    /// - Parameter client: the client of the run that this is a part of; `nil` where it is a run of its own.
    /// - Returns: the file's path.
    func download(
        _ wanted: WantedAttachment, by client: ServerClient? = nil, progress: SharedDownloads.Progress?
    ) async throws(RemoteSettingsError) -> String {
        let download = AttachmentDownload(session, id)
        return try await state.downloads.run(wanted.digest, progress: progress) { [self] progress in
            // One that ended since the caller looked.
            if isCached(wanted) { return .success(session.storage.attachmentPath(id, wanted.digest)) }
            do throws(RemoteSettingsError) {
                let client = if let client { client } else { try session.startingRun() }
                return .success(try await download.download(wanted, by: client, progress: progress))
            } catch {
                return .failure(error)
            }
        }.get()
    }

    private func cached(_ digest: SHA256Digest, size: Int?) -> Bytes? {
        let path = session.storage.attachmentPath(id, digest)
        guard let found = FileStore.size(path), size == nil || found == size,
            let bytes = try? FileStore.read(path, limit: session.limits.attachmentBytes)
        else { return nil }
        guard SHA256Digest(hashing: bytes) == digest else {
            session.logger.warning("\(path): its content is not what its name says; it is removed")
            try? FileStore.remove(path)
            return nil
        }
        return bytes
    }

    /// Like `cached`, without holding it in memory.
    private func isCached(_ wanted: WantedAttachment) -> Bool {
        let path = session.storage.attachmentPath(id, wanted.digest)
        guard FileStore.size(path) == wanted.size, let file = try? MappedFile(path: path) else { return false }
        guard SHA256Digest(hashing: file.bytes) == wanted.digest else {
            try? FileStore.remove(path)
            return false
        }
        return true
    }

    private func packaged(_ digest: SHA256Digest, size: Int?, in bundle: PackagedBundle) -> Bytes? {
        guard let reader = try? bundle.reader(), let found = try? reader.attachmentSize(digest),
            size == nil || found == size, var bytes = try? reader.attachment(digest, isTrusted: true)
        else { return nil }
        // Of a file that others may write to, a copy is checked: a copy cannot change afterwards.
        if !bundle.isTrusted { bytes = Bytes(bytes.array) }
        guard SHA256Digest(hashing: bytes) == digest else {
            session.logger.warning("\(reader.name): the attachment \(digest) is damaged")
            return nil
        }
        return bytes
    }

    /// The attachment of an earlier version of the same record, as a verified snapshot has it.
    private func stale(_ wanted: WantedAttachment) -> AttachmentContent? {
        func digest(in records: RecordTable?) -> SHA256Digest? {
            guard let found = try? records?.record(id: wanted.record)?.attachment()?.hash else { return nil }
            return found == wanted.digest ? nil : found
        }
        let loader = session.loader
        let loaded = state.current(session)
        let previous = loader.previousRecords(id, isKnownSigned: loaded.isKnownSigned)
        if let earlier = digest(in: previous), let bytes = cached(earlier, size: nil) {
            return AttachmentContent(bytes: bytes, source: .staleCached)
        }
        for bundle in loaded.bundles {
            guard let earlier = digest(in: loader.records(of: bundle)),
                let bytes = packaged(earlier, size: nil, in: bundle)
            else { continue }
            return AttachmentContent(bytes: bytes, source: .stalePackaged(bundle.sourceName))
        }
        return nil
    }
}
