import FileStorage
import RemoteSettingsModel

/// A collection's attachments in the storage directory, each a file named by its SHA-256.
struct CachedAttachments: Sendable {
    /// What is left of an interrupted download is removed after so many seconds.
    private static var partSeconds: UInt64 { 86_400 }

    let storage: StorageDirectory
    let id: CollectionID

    private var directory: String { storage.attachmentsPath(id) }

    /// The attachments of the cached state whose records have new ones that are not here yet: they may serve in their
    /// place for who accepts that.
    func stale(from held: HeldSnapshot?, to records: RecordTable) -> Set<SHA256Digest> {
        guard let held, held.source == .cached, FileStore.isDirectory(directory) else { return [] }
        var stale: Set<SHA256Digest> = []
        for record in held.records {
            guard let digest = try? record.attachment()?.hash, isHere(digest),
                let now = try? records.record(id: record.id)?.attachment()?.hash, now != digest, !isHere(now)
            else { continue }
            stale.insert(digest)
        }
        return stale
    }

    private func isHere(_ digest: SHA256Digest) -> Bool { FileStore.size(storage.attachmentPath(id, digest)) != nil }

    /// Removes the files that no record names any longer.
    func removeOrphans(keeping records: RecordTable, _ stale: Set<SHA256Digest>, now: Timestamp) {
        guard let names = try? FileStore.list(directory), !names.isEmpty else { return }
        var kept = stale
        for record in records {
            if let digest = try? record.attachment()?.hash { kept.insert(digest) }
        }
        for name in names {
            let path = "\(directory)/\(name)"
            if let digest = SHA256Digest(hex: name) {
                if kept.contains(digest) { continue }
            } else if let changed = FileStore.identity(path)?.seconds,
                changed > Int64(clamping: now.seconds).saturatingAdding(-Int64(Self.partSeconds))
            {
                // Perhaps another process is writing it.
                continue
            }
            try? FileStore.remove(path)
        }
    }
}
