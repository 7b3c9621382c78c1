import RemoteSettingsModel
import SnapshotBundle

extension LocalCollection {
    /// Writes a state that a sync has verified into the storage directory. Does I/O.
    ///
    /// If another process has stored a newer state meanwhile, that is taken over instead.
    ///
    /// - Parameters:
    ///   - held: what was held when the sync began.
    ///   - cleanupFailed: called if attachments that no record has any more could not be removed.
    /// - Returns: the state that is in use now.
    /// - Throws: `FileError`, or `RemoteSettingsError` if another process holds the directory for too long.
    func store(
        _ snapshot: Snapshot, over held: HeldState, cleanupFailed: (FileError) -> Void
    ) async throws -> HeldState {
        try await session.withStorageLock {
            let storage = session.storage
            let identity = try storage.identity(id)
            var isOfLaterFormat = held.isOfLaterFormat
            // A cache file that is not in use is read again as well. It may have been unreadable for a moment, and may
            // be newer.
            if identity != held.cacheIdentity || identity != nil && !held.isCached {
                let present = session.loader.load(id)
                isOfLaterFormat = present.isOfLaterFormat
                if present.isCached, let timestamp = present.timestamp, timestamp >= snapshot.timestamp {
                    return present
                }
            }
            // This is checked under the lock, so that a closed session cannot write after the session that follows it.
            guard !session.isClosed else { throw RemoteSettingsError.closed }
            let server = try session.server.get()
            let cached = held.isCached ? held.snapshot : nil
            let stale = Result { () throws(FileError) in
                guard let cached else { return Set<SHA256Digest>() }
                return try storage.staleAttachments(id, from: cached.records, to: snapshot.records)
            }
            if isOfLaterFormat {
                // The state is used for as long as the process runs. This version must not replace what a later version
                // has stored.
                var kept = held
                kept.serve(snapshot, from: .cached, isVerifiedHere: true)
                kept.isOfLaterFormat = true
                kept.cacheIdentity = identity
                if snapshot.chain != nil { kept.noteSigned(asOf: snapshot.timestamp) }
                return kept
            }
            let file = CacheFile(snapshot, server: "\(server)")
            try FileStore.makeDirectories(FileStore.parent(of: storage.snapshotPath(id)), below: storage.path)
            try FileStore.remove(storage.previousPath(id), below: storage.path)
            // If the link fails, only the fallback to earlier attachments is lost.
            if (try? stale.get())?.isEmpty == false {
                try? FileStore.link(storage.snapshotPath(id), as: storage.previousPath(id))
            }
            try FileStore.replace(storage.snapshotPath(id), below: storage.path, with: file.bytes)
            storage.forgetRefusal(of: id)
            do throws(FileError) {
                // If it is not known which attachments may stand in for new ones, all stay until the next sync.
                try storage.removeOrphanedAttachments(id, keeping: snapshot.records, stale.get(), now: session.now)
            } catch {
                session.logger.warning("\(id): attachments that no record has any more could not be removed: \(error)")
                cleanupFailed(error)
            }

            var stored = held
            stored.unused.removeAll { $0.source == .cached }
            if case .packaged = held.source {
                stored.unused.append(.init(source: held.source, timestamp: held.timestamp, reason: .older))
            }
            stored.serve(snapshot, from: .cached, isVerifiedHere: true)
            stored.isCached = true
            stored.highWaterMark = file.mark
            if file.chain != nil { stored.noteSigned(asOf: file.timestamp) }
            // If the identity cannot be read, the file is read again at the next call.
            stored.cacheIdentity = try? storage.identity(id)
            return stored
        }
    }

    /// Removes the attachments that no record has any more, and those of earlier versions.
    ///
    /// - Returns: how many files were removed.
    func pruneAttachments() throws -> Int {
        // While a file replaces the collection, the stored attachments are still those of the collection.
        guard overriding == nil, try FileStore.isDirectory(session.storage.attachmentsPath(id)) else { return 0 }
        return try session.withFreeStorageLock {
            guard let records = held().snapshot?.records else { return 0 }
            try FileStore.remove(session.storage.previousPath(id), below: session.storage.path)
            return try session.storage.removeOrphanedAttachments(id, keeping: records, [], now: session.now)
        }
    }
}

extension StorageDirectory {
    /// The stored attachments of `old` records whose `new` versions have other attachments that are not stored yet.
    ///
    /// They can stand in for the new ones if a caller accepts that.
    func staleAttachments(
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
