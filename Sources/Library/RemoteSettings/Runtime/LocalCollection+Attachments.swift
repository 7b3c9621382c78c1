import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// An attachment is read from the first of these places that has it with the hash in the record:
///
/// | Place | If the hash is wrong, or the attachment cannot be read |
/// |---|---|
/// | the storage directory | a file with a wrong hash is removed, and the next place is tried |
/// | the overriding file | the next place is tried |
/// | packaged bundles, newest first | the next place is tried |
/// | the network | a file with a wrong hash is downloaded up to three times, then the next place is tried |
/// | an earlier version of the record, only with `staleFallback` | the call fails with the network's error |
///
/// An interrupted download is resumed. If the process is killed during a download, a temporary file is left, which a
/// later sync removes.
extension LocalCollection {
    /// Returns the hash, size and location of a record's attachment.
    ///
    /// - Throws: ``RemoteSettingsError`` if the record has no attachment, or one that is too large.
    func wanted(_ record: RemoteSettingsRecord) throws(RemoteSettingsError) -> WantedAttachment {
        do throws(Failure) {
            guard let attachment = try record.record.attachment() else {
                throw Failure.invalidAttachment(record: record.id, problem: "the field attachment is missing")
            }
            let limit = session.limits.attachmentBytes
            guard let size = Int(exactly: attachment.size), size <= limit else {
                throw Failure.invalidAttachment(
                    record: record.id,
                    problem: "it is \(attachment.size) bytes, over RemoteSettingsLimits.attachmentBytes (\(limit))")
            }
            return WantedAttachment(
                digest: attachment.hash, size: size, location: attachment.location, record: record.id)
        } catch {
            throw .other(reason: "\(id): \(error)")
        }
    }

    func wanted(location: String) throws(RemoteSettingsError) -> WantedAttachment {
        for record in records() ?? [] {
            guard let wanted = try? wanted(record), wanted.location.exact == location.exact else { continue }
            return wanted
        }
        throw .notFound(reason: "\(id): no record has an attachment at \(VisibleText.quote(location))")
    }

    /// Returns a stored or packaged attachment after checking its hash; `nil` if it is neither. Does I/O.
    func localAttachment(_ wanted: WantedAttachment) -> AttachmentContent? {
        if let bytes = cached(wanted.digest, size: wanted.size) {
            return AttachmentContent(bytes: bytes, source: .cached)
        }
        if let overriding, let bytes = overriding.attachment(wanted) {
            return AttachmentContent(bytes: bytes, source: .packaged(overriding.path))
        }
        for bundle in current().bundles {
            guard let bytes = packaged(wanted.digest, size: wanted.size, in: bundle) else { continue }
            return AttachmentContent(bytes: bytes, source: .packaged(bundle.sourceName))
        }
        return nil
    }

    /// Returns an attachment in memory. Uses the network if it is neither stored nor packaged.
    func content(_ wanted: WantedAttachment, staleFallback: Bool) async throws(RemoteSettingsError) -> AttachmentContent
    {
        if let local = localAttachment(wanted) { return local }
        do throws(RemoteSettingsError) {
            let path = try await download(wanted)
            guard let bytes = cached(wanted.digest, size: wanted.size) else {
                throw .storage(reason: "\(path): the file was removed or changed right after the download; try again")
            }
            return AttachmentContent(bytes: bytes, source: .network)
        } catch {
            if staleFallback, let stale = stale(wanted) { return stale }
            throw error
        }
    }

    /// Returns an attachment as a file in the storage directory. Uses the network if it is neither stored nor packaged.
    func file(
        _ wanted: WantedAttachment, staleFallback: Bool, progress: (@Sendable (AttachmentProgress) -> Void)?
    ) async throws(RemoteSettingsError) -> RemoteSettingsClient.AttachmentFile {
        let path = session.storage.attachmentPath(id, wanted.digest)
        if isCached(wanted) { return RemoteSettingsClient.AttachmentFile(path: path, source: .cached) }
        if let overriding, let bytes = overriding.attachment(wanted), (try? keep(bytes, as: wanted.digest)) != nil {
            return RemoteSettingsClient.AttachmentFile(path: path, source: .packaged(overriding.path))
        }
        for bundle in current().bundles {
            guard let reader = try? bundle.reader(), reader.contains(wanted.digest) else { continue }
            // If the extraction fails, try the next bundle and then the network.
            if (try? extract(wanted, from: reader)) == true {
                return RemoteSettingsClient.AttachmentFile(path: path, source: .packaged(bundle.sourceName))
            }
        }
        do throws(RemoteSettingsError) {
            return RemoteSettingsClient.AttachmentFile(
                path: try await download(wanted, progress: progress), source: .network)
        } catch {
            guard staleFallback, let stale = stale(wanted) else { throw error }
            let digest = SHA256Digest(hashing: stale.bytes)
            if case .stalePackaged = stale.source, (try? keep(stale.bytes, as: digest)) == nil { throw error }
            return RemoteSettingsClient.AttachmentFile(
                path: session.storage.attachmentPath(id, digest), source: stale.source,
                earlierRecord: stale.earlierRecord)
        }
    }

    /// Reads a stored attachment into memory.
    ///
    /// - Parameter size: the required size in bytes; `nil` to accept any size.
    private func cached(_ digest: SHA256Digest, size: Int?) -> Bytes? {
        let path = session.storage.attachmentPath(id, digest)
        // If the file cannot be read, the caller tries the next place.
        guard let found = try? FileStore.size(path), size == nil || found == size,
            let bytes = try? FileStore.read(path, limit: Limits.attachmentBytes)
        else { return nil }
        guard SHA256Digest(hashing: bytes) == digest else {
            session.logger.warning("\(path): its SHA-256 does not match its name; removing the file")
            session.storage.discard(path)
            return nil
        }
        return bytes
    }

    /// Returns whether the attachment is stored, checking its hash without loading it into memory.
    func isCached(_ wanted: WantedAttachment) -> Bool {
        let path = session.storage.attachmentPath(id, wanted.digest)
        var hasher = ContentHasher()
        do throws(Failure) {
            guard try FileStore.size(path) == wanted.size else { return false }
            try FileStore.readPieces(path) { hasher.update($0) }
        } catch {
            return false
        }
        guard hasher.finish() == wanted.digest else {
            session.storage.discard(path)
            return false
        }
        return true
    }

    private func packaged(_ digest: SHA256Digest, size: Int?, in bundle: PackagedBundle) -> Bytes? {
        guard let reader = try? bundle.reader(), let found = try? reader.attachmentSize(digest),
            size == nil || found == size, let bytes = try? reader.attachment(digest, isTrusted: true)
        else { return nil }
        guard SHA256Digest(hashing: bytes) == digest else {
            session.logger.warning("\(reader.name): the attachment \(digest) is damaged")
            return nil
        }
        return bytes
    }

    /// Returns the attachment of an earlier version of the same record, as the base of a delta; `nil` if there is none,
    /// or if a delta would not save enough. Does I/O.
    func heldFile(for wanted: WantedAttachment) -> HeldFile? {
        guard FileDelta.isWorthwhile(from: wanted.size, to: wanted.size), let stale = stale(wanted),
            let attachment = try? stale.earlierRecord?.record.attachment(),
            FileDelta.isWorthwhile(from: stale.bytes.count, to: wanted.size)
        else { return nil }
        return HeldFile(stale.bytes, digest: attachment.hash, location: attachment.location, newer: wanted.digest)
    }

    /// Returns the stored or packaged attachment of an earlier version of the record, found in a verified snapshot.
    private func stale(_ wanted: WantedAttachment) -> AttachmentContent? {
        func earlier(in records: RecordTable?) -> (record: RemoteSettingsRecord, digest: SHA256Digest)? {
            guard let record = records?.record(id: wanted.record), let digest = try? record.attachment()?.hash,
                digest != wanted.digest
            else { return nil }
            return (RemoteSettingsRecord(record), digest)
        }
        let current = self.current()
        let previous = session.previous(of: id, isKnownSigned: current.isKnownSigned)?.records
        if let earlier = earlier(in: previous), let bytes = cached(earlier.digest, size: nil) {
            return AttachmentContent(bytes: bytes, source: .staleCached, earlierRecord: earlier.record)
        }
        for bundle in current.bundles {
            let snapshot = try? bundle.snapshot(session.choice.verifier, isKnownSigned: current.isKnownSigned)
            guard let earlier = earlier(in: snapshot?.records),
                let bytes = packaged(earlier.digest, size: nil, in: bundle)
            else { continue }
            return AttachmentContent(
                bytes: bytes, source: .stalePackaged(bundle.sourceName), earlierRecord: earlier.record)
        }
        return nil
    }
}
