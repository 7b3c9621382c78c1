import FileStorage
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension AttachmentLoader {
    /// The server's zip is asked for where more than this many attachments are wanted.
    private static var zipThreshold: Int { 16 }
    /// Attachments downloaded at once.
    private static var width: Int { 4 }

    /// Brings every attachment of these records here that is not.
    func cacheAll(_ records: [RemoteSettingsRecord]) async throws(RemoteSettingsError) -> CachedAttachmentsSummary {
        var summary = CachedAttachmentsSummary()
        var missing: [WantedAttachment] = []
        var seen: Set<SHA256Digest> = []
        for record in records where record.attachment != nil {
            let wanted = try wanted(record)
            guard seen.insert(wanted.digest).inserted else { continue }
            if local(wanted) != nil { summary.present += 1 } else { missing.append(wanted) }
        }
        if missing.count > Self.zipThreshold, hasZip {
            let count = missing.count
            missing = await takeFromZip(missing)
            summary.fromZip = count - missing.count
        }
        try await download(missing)
        summary.downloaded = missing.count
        return summary
    }

    private var hasZip: Bool {
        guard let metadata = state.current(session).held?.snapshot.metadata else { return false }
        return (try? CollectionMetadata(parsing: metadata.json, limits: session.limits))?.hasAttachmentsZip ?? false
    }

    private func download(_ missing: [WantedAttachment]) async throws(RemoteSettingsError) {
        let failure = await withTaskGroup(of: RemoteSettingsError?.self) { group in
            var queue = missing.makeIterator()
            var failure: RemoteSettingsError?
            func enqueueNext() {
                guard failure == nil, let wanted = queue.next() else { return }
                group.addTask {
                    do throws(RemoteSettingsError) {
                        _ = try await download(wanted, progress: nil)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            for _ in 0..<Self.width { enqueueNext() }
            while let result = await group.next() {
                failure = failure ?? result
                enqueueNext()
            }
            return failure
        }
        if let failure { throw failure }
    }

    /// Takes what is right out of the server's zip. It is a cache of the server's: where it lags, is damaged or is not
    /// there at all, what it does not give stays missing.
    ///
    /// - Returns: what is still missing.
    private func takeFromZip(_ missing: [WantedAttachment]) async -> [WantedAttachment] {
        let download = AttachmentDownload(session, id)
        do {
            let bytes = try await zip()
            let zip = try AttachmentsZIP(bytes, name: "the server's zip of \(id)", limits: session.limits)
            let left = try missing.filter { wanted in
                guard let file = zip.file(of: wanted.record, size: wanted.size),
                    SHA256Digest(hashing: file) == wanted.digest
                else { return true }
                try download.keep(file, as: wanted.digest)
                return false
            }
            if !left.isEmpty {
                session.logger.info("the server's zip of \(id) lacks \(Counted.text(left.count, "attachment"))")
            }
            return left
        } catch {
            let problem = (error as? BundleError)?.problem ?? "\(error)"
            session.logger.info("the server's zip of \(id) could not be used, files are fetched singly: \(problem)")
            // What it gave before the error is here.
            return missing.filter { local($0) == nil }
        }
    }

    /// The zip in memory, which ``Limits/attachmentsZipBytes`` bounds.
    private func zip() async throws -> Bytes {
        let client = try session.client()
        let base = try await session.attachmentsURL(client).value()
        var bytes: [UInt8] = []
        try await client.attachmentsZip(id, at: base) { part in
            switch part {
            case .start(let start): bytes.removeSubrange(min(start.offset, bytes.count)...)
            case .bytes(let piece): bytes.append(contentsOf: piece)
            }
        }
        return Bytes(bytes)
    }
}
