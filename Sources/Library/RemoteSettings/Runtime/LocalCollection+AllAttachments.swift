import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension LocalCollection {
    /// The number of missing attachments above which the server's ZIP file is tried first.
    private static var zipThreshold: Int { 16 }
    /// The number of concurrent downloads.
    private static var width: Int { 4 }

    /// Downloads every attachment of these records that is neither stored nor packaged. A failure that concerns every
    /// file ends the whole download; one that concerns a single file does not.
    func downloadAttachments(
        of records: [RemoteSettingsRecord], progress: (@Sendable (AttachmentDownloads) -> Void)?
    ) async throws(RemoteSettingsError) -> AttachmentDownloads {
        var summary = AttachmentDownloads()
        var missing: [WantedAttachment] = []
        var seen: Set<SHA256Digest> = []
        for record in records where record.attachment != nil {
            let wanted = try wanted(record)
            guard seen.insert(wanted.digest).inserted else { continue }
            if localAttachment(wanted) != nil { summary.present += 1 } else { missing.append(wanted) }
        }
        guard !missing.isEmpty else { return summary }
        try session.checkNetwork(id)
        let client = try session.startingRun()
        if missing.count > Self.zipThreshold, hasZip {
            let count = missing.count
            missing = await extractFromZip(missing, by: client)
            summary.fromZip = count - missing.count
        }
        let shared = Mutex(summary)
        progress?(summary)
        _ = try await missing.concurrentMap(width: Self.width) { wanted throws(RemoteSettingsError) in
            var failure: RemoteSettingsError?
            do throws(RemoteSettingsError) {
                _ = try await self.download(wanted, by: client)
            } catch {
                guard error.isOfOneFile else { throw error }
                failure = error
            }
            let now = shared.withLock { summary in
                if let failure { summary.failed[wanted.record] = failure } else { summary.downloaded += 1 }
                return summary
            }
            progress?(now)
        }
        return shared.withLock { $0 }
    }

    private var hasZip: Bool {
        // The metadata of a trusted bundle was not parsed when the bundle was read, so it is parsed here.
        guard let metadata = current().snapshot?.metadata.json else { return false }
        return (try? CollectionMetadata(parsing: metadata))?.hasAttachmentsZip ?? false
    }

    /// Downloads the server's ZIP file, and stores the missing attachments that it contains.
    ///
    /// The ZIP file may be outdated, so it may lack attachments or contain earlier versions of them.
    ///
    /// - Returns: the attachments that are still missing.
    private func extractFromZip(_ missing: [WantedAttachment], by client: ServerClient) async -> [WantedAttachment] {
        do {
            let bytes = try await zip(by: client)
            let zip = try AttachmentsZIP(bytes, name: "the server's zip of \(id)")
            let left = try missing.filter { wanted in
                guard let file = zip.file(of: wanted.record, size: wanted.size),
                    SHA256Digest(hashing: file) == wanted.digest
                else { return true }
                try keep(file, as: wanted.digest)
                return false
            }
            if !left.isEmpty {
                session.logger.info("the server's zip of \(id) lacks \(Counted.text(left.count, "attachment"))")
            }
            return left
        } catch {
            let problem = (error as? Failure)?.withoutPlace ?? "\(error)"
            session.logger.info(
                "the server's zip of \(id) could not be used; downloading attachments one by one: \(problem)")
            // Attachments that were extracted before the error are already stored.
            return missing.filter { localAttachment($0) == nil }
        }
    }

    /// Downloads the server's ZIP file into memory. Its size is limited by ``Limits/attachmentsZipBytes``.
    private func zip(by client: ServerClient) async throws -> Bytes {
        let base = try await session.attachmentsURL.value(client)
        var bytes: [UInt8] = []
        try await client.attachmentsZip(id, at: base) { part in
            switch part {
            case .start(let offset): bytes.removeSubrange(min(offset, bytes.count)...)
            case .bytes(let piece): bytes.append(contentsOf: piece)
            }
        }
        return Bytes(bytes)
    }
}

extension RemoteSettingsError {
    /// Whether other files of the same server may still be downloaded.
    fileprivate var isOfOneFile: Bool {
        switch self {
        case .notFound, .invalidName, .untrusted, .rejected, .other: true
        case .cancelled, .closed, .noClient, .offline, .unavailable, .timedOut, .notAllowed, .backoff, .storage: false
        }
    }
}
