import RemoteSettingsModel
import SnapshotBundle

extension LocalCollection {
    /// Removes the attachments that no record refers to any more, including those of earlier versions of records.
    ///
    /// - Returns: the number of removed files.
    func pruneAttachments() throws -> Int {
        let storage = session.storage
        // While a local file replaces the collection, the stored attachments still belong to the collection itself.
        guard overriding == nil, try FileStore.isDirectory(storage.attachmentsPath(id)) else { return 0 }
        let isSafeStart = session.trials.isSafeStart
        var removed = Result<Int, any Error>.success(0)
        let (_, problem) = try storage.update(waiting: .no) { index in
            if !isSafeStart { index[key].synced.previous = nil }
        } then: { index in
            guard let records = current().snapshot?.records else { return }
            removed = Result { try storage.removeOrphanedAttachments(of: self, keeping: records, [], in: index) }
        }
        if let problem { throw problem }
        return try removed.get()
    }
}

extension StorageDirectory {
    /// Removes a damaged file.
    func discard(_ path: String) { if !isReadOnly { try? FileStore.remove(path, below: self.path) } }

    /// Returns the attachments of a state. The state is not verified, so the result may only be used to keep files.
    ///
    /// - Returns: `nil` if the state's file cannot be read.
    private func attachments(of stored: StoredState, _ id: CollectionID) -> Set<SHA256Digest>? {
        guard let file = try? file(of: stored, id), let payload = try? Payload(parsing: file.payload)
        else { return nil }
        return Set(payload.records.compactMap { try? $0.attachment()?.hash })
    }

    /// Returns the stored attachments of `old` records whose `new` versions have different attachments that are not
    /// stored yet.
    ///
    /// A caller that allows stale attachments can use them until the new ones are stored.
    func staleAttachments(
        _ id: CollectionID, from old: RecordTable, to new: RecordTable
    ) throws(Failure) -> Set<SHA256Digest> {
        guard try FileStore.isDirectory(attachmentsPath(id)) else { return [] }
        func isStored(_ digest: SHA256Digest) throws(Failure) -> Bool {
            try FileStore.size(attachmentPath(id, digest)) != nil
        }
        var stale: Set<SHA256Digest> = []
        for case .updated(let before, let after) in new.differences(from: old) {
            guard let digest = try? before.attachment()?.hash, let now = try? after.attachment()?.hash, now != digest,
                try isStored(digest), try !isStored(now)
            else { continue }
            stale.insert(digest)
        }
        return stale
    }

    /// Removes the attachments that no record refers to any more, except those that the app has asked to keep and those
    /// of the state that the app can roll back to.
    ///
    /// - Returns: the number of removed files.
    /// - Throws: `Failure` for the first file that cannot be removed. All others are removed.
    @discardableResult
    func removeOrphanedAttachments(
        of collection: LocalCollection, keeping records: RecordTable, _ stale: Set<SHA256Digest>, in index: StorageIndex
    ) throws(Failure) -> Int {
        let (id, session) = (collection.id, collection.session)
        let directory = attachmentsPath(id)
        // If a symbolic link has replaced the directory, its files do not belong to the library.
        guard try FileStore.isDirectory(directory), let names = try FileStore.list(directory, isLossy: true),
            !names.isEmpty
        else { return 0 }
        let entry = index[collection.key]
        var kept = stale.union(entry.kept)
        // Records of other environments refer to files in this directory too. Attachments of a state whose file is lost
        // are removed and fetched again.
        for (key, other) in index.environments(of: id) where key != collection.key {
            kept.formUnion(other.kept)
            for stored in other.states {
                kept.formUnion(attachments(of: stored, id) ?? [])
            }
        }
        if session.trials.isSafeStart, let previous = entry.synced.previous {
            guard let attachments = attachments(of: previous, id) else { return 0 }
            kept.formUnion(attachments)
        }
        for record in records {
            if let digest = try? record.attachment()?.hash { kept.insert(digest) }
        }
        var removed = 0
        var failure: Failure?
        for name in names {
            let path = "\(directory)/\(name)"
            guard let digest = Self.hash(inName: name) else { continue }
            do throws(Failure) {
                let isKept = try name == digest.hex ? kept.contains(digest) : mayBeWritten(path, now: session.now)
                if isKept { continue }
                try FileStore.remove(path, below: self.path)
                removed += 1
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return removed
    }
}
