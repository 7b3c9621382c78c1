import RemoteSettingsModel
import SnapshotBundle

extension LocalCollection {
    /// Removes the attachments that no record has any more, and those of earlier versions.
    ///
    /// - Returns: how many files were removed.
    func pruneAttachments() throws -> Int {
        // While a file replaces the collection, the stored attachments are still those of the collection.
        guard overriding == nil, try FileStore.isDirectory(session.storage.attachmentsPath(id)) else { return 0 }
        return try session.withFreeStorageLock {
            guard let records = current().snapshot?.records else { return 0 }
            let storage = session.storage
            var kept: Set<SHA256Digest> = []
            if session.allTrials.isSafeStart {
                kept = storage.previousAttachments(id)
            } else {
                try FileStore.remove(storage.previousPath(id), below: storage.path)
            }
            return try storage.removeOrphanedAttachments(id, keeping: records, kept, now: session.now)
        }
    }
}

extension StorageDirectory {
    /// Puts a collection's new state in the place of the old one, and removes the attachments that no record names any
    /// more. The old state stays as the previous one if some of its attachments may stand in for new ones.
    ///
    /// - Parameters:
    ///   - old: the records of the file that is replaced; `nil` if they are not known.
    ///   - new: the records of the new state; `nil` if they are not known, in which case all attachments stay.
    ///   - keepsOld: whether the old state becomes the one that the app can go back to. If it does not, the one that is
    ///     kept for that stays. `nil` if none is kept.
    ///   - put: writes the new state's file, or renames it.
    /// - Returns: why attachments could not be removed. They stay until the next sync.
    /// - Throws: what `put` throws, or `FileError` if the old state cannot be kept. The old state is then still there.
    func replaceState(
        of id: CollectionID, _ old: RecordTable?, by new: RecordTable?, now: Timestamp, keepsOld: Bool? = nil,
        put: () throws(FileError) -> Void
    ) throws(FileError) -> FileError? {
        let stale = Result { () throws(FileError) in
            guard let old, let new else { return Set<SHA256Digest>() }
            return try staleAttachments(id, from: old, to: new)
        }
        if let keepsOld {
            if keepsOld { try keepPrevious(id) }
        } else {
            // If one of these two fails, only the fallback to earlier attachments is lost.
            try? FileStore.remove(previousPath(id), below: path)
            if (try? stale.get())?.isEmpty == false { try? FileStore.link(snapshotPath(id), as: previousPath(id)) }
        }
        try put()
        guard let new else { return nil }
        do throws(FileError) {
            let previous = keepsOld == nil ? [] : previousAttachments(id)
            try removeOrphanedAttachments(id, keeping: new, stale.get().union(previous), now: now)
            return nil
        } catch {
            return error
        }
    }

    /// Makes the cached state the one to go back to, in one step.
    func keepPrevious(_ id: CollectionID) throws(FileError) {
        let (previous, link) = (previousPath(id), previousPath(id) + ".tmp")
        try FileStore.remove(link, below: path)
        try FileStore.link(snapshotPath(id), as: link)
        try FileStore.rename(link, to: previous, below: path)
        // If both are the same file already, a rename does nothing.
        try FileStore.remove(link, below: path)
    }

    /// The attachments of the state to go back to. It is not verified, so it decides only what is not removed.
    fileprivate func previousAttachments(_ id: CollectionID) -> Set<SHA256Digest> {
        guard let file = try? cacheFile(id, at: previousPath(id), limits: Limits()),
            let payload = try? Payload(parsing: file.payload, limits: Limits())
        else { return [] }
        return Set(payload.records.compactMap { try? $0.attachment()?.hash })
    }

    /// The stored attachments of `old` records whose `new` versions have other attachments that are not stored yet.
    ///
    /// They can stand in for the new ones if a caller accepts that.
    private func staleAttachments(
        _ id: CollectionID, from old: RecordTable, to new: RecordTable
    ) throws(FileError) -> Set<SHA256Digest> {
        guard try FileStore.isDirectory(attachmentsPath(id)) else { return [] }
        func isStored(_ digest: SHA256Digest) throws(FileError) -> Bool {
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

    /// Removes the attachments that no record names any more and that nobody asked to keep.
    ///
    /// - Returns: how many files were removed.
    /// - Throws: `FileError` for the first file that cannot be removed. The others are removed.
    @discardableResult
    func removeOrphanedAttachments(
        _ id: CollectionID, keeping records: RecordTable, _ stale: Set<SHA256Digest>, now: Timestamp
    ) throws(FileError) -> Int {
        let directory = attachmentsPath(id)
        // If a link has taken the directory's place, the files behind it are not the library's.
        guard try FileStore.isDirectory(directory), let names = try FileStore.list(directory), !names.isEmpty
        else { return 0 }
        var kept = stale
        for record in records {
            if let digest = try? record.attachment()?.hash { kept.insert(digest) }
        }
        let marks = names.filter { $0.hasSuffix(Self.keepMark) }
        kept.formUnion(marks.compactMap { SHA256Digest(hex: String($0.dropLast(Self.keepMark.utf8.count))) })
        var removed = 0
        var failure: FileError?
        for name in names where !name.hasSuffix(Self.keepMark) {
            let path = "\(directory)/\(name)"
            do throws(FileError) {
                if let digest = SHA256Digest(hex: name) {
                    if kept.contains(digest) { continue }
                } else if try mayBeWritten(path, now: now) {
                    continue
                }
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
