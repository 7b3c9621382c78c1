import FileStorage
import RemoteSettingsModel

/// A collection's attachments in the storage directory, each a file named by its SHA-256.
struct CachedAttachments: Sendable {
    /// What is left of an interrupted download is removed after so many seconds.
    private static var partSeconds: UInt64 { 86_400 }

    let storage: StorageDirectory
    let id: CollectionID

    private var directory: String { storage.attachmentsPath(id) }

    /// The attachments of earlier versions of records that are kept until the new ones are there, by record id.
    func stale(from loaded: LoadedCollection, to records: RecordTable) -> [String: SHA256Digest] {
        guard FileStore.isDirectory(directory) else { return [:] }
        var earlier = loaded.staleAttachments
        for record in loaded.held?.records ?? RecordTable() {
            guard let digest = try? record.attachment()?.hash else { continue }
            if FileStore.size(storage.attachmentPath(id, digest)) != nil { earlier[record.id] = digest }
        }
        return earlier.filter { name, digest in
            guard let now = try? records.record(id: name)?.attachment()?.hash, now != digest else { return false }
            return FileStore.size(storage.attachmentPath(id, now)) == nil
        }
    }

    /// Removes the files that no record names any longer.
    func removeOrphans(keeping records: RecordTable, _ stale: [String: SHA256Digest], now: Timestamp) {
        guard let names = try? FileStore.list(directory), !names.isEmpty else { return }
        var kept = Set(stale.values)
        for record in records {
            if let digest = try? record.attachment()?.hash { kept.insert(digest) }
        }
        for name in names {
            let path = "\(directory)/\(name)"
            if let digest = SHA256Digest(hex: name) {
                if kept.contains(digest) { continue }
            } else if let changed = FileStore.identity(path)?.seconds,
                Int64(now.seconds) - changed < Int64(Self.partSeconds)
            {
                // Perhaps another process is writing it.
                continue
            }
            try? FileStore.remove(path)
        }
    }
}
