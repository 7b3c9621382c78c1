import RemoteSettingsModel
import SnapshotBundle

/// A change to a dumps directory: to its bundles, its lock file and its `dumps.yaml`. No other code writes them.
///
/// ``begin(in:waiting:isReadOnly:limits:replacing:)`` locks the directory and finishes a commit that was killed. Only
/// then is read what the change depends on: `dumps.yaml`, keys and bundles, which another process may have changed
/// while this one was waiting. Then bundles are staged, that is, packed beside the current ones. ``commit(_:text:)``
/// makes all of them current, or none. ``end(keepingDownloads:)`` removes temporary files.
///
/// Even if the process is killed, every reader sees either the old state or the new one. This depends on the redo log
/// (`RedoLog`): as long as it has no effect, the next transaction discards the staged bundles; afterwards, the next
/// transaction finishes the commit. It takes effect when it is written or, if `dumps.yaml` changes, when that file is
/// replaced.
package final class DumpsTransaction: Sendable {
    package let directory: DumpsDirectory
    /// The lock file before the change.
    package let before: LockFile
    /// The collections of a killed commit that was finished by ``begin(in:waiting:isReadOnly:limits:replacing:)``.
    package let recovered: [CollectionID]
    private let lock: Mutex<DirectoryLock?>
    private let isNewDirectory: Bool
    private let isReadOnly: Bool
    private let next: Mutex<Next>

    /// The state that the commit makes current.
    private struct Next {
        var lock: LockFile
        var staged: Set<CollectionID> = []
        var removed: Set<CollectionID> = []
    }

    private init(
        _ directory: DumpsDirectory, lock: DirectoryLock, before: LockFile, recovered: [CollectionID],
        isNewDirectory: Bool, isReadOnly: Bool
    ) {
        self.directory = directory
        self.lock = Mutex(lock)
        self.before = before
        self.recovered = recovered
        self.isNewDirectory = isNewDirectory
        self.isReadOnly = isReadOnly
        next = Mutex(Next(lock: LockFile(collections: before.collections), removed: before.retired.map { [$0] } ?? []))
    }

    /// Locks the directory, and finishes a commit that was killed. Creates the directory if it is missing. Does I/O.
    ///
    /// - Parameters:
    ///   - duration: how long to wait if another process is using the directory, in real time.
    ///   - isReadOnly: whether to write nothing, not even to finish a killed commit.
    ///   - lock: returns the lock file before the change, if the one in the directory cannot be parsed because it
    ///     contains git's conflict markers; `nil` otherwise. It is called when the directory is locked.
    /// - Throws: ``Failure`` if another process is still working in the directory; `Failure` if the lock file
    ///   cannot be read; `CancellationError`.
    package static func begin(
        in directory: DumpsDirectory, waiting duration: Duration = .seconds(1), isReadOnly: Bool = false,
        replacing lock: () async throws -> LockFile? = { nil }
    ) async throws -> DumpsTransaction {
        let isNew = try !isReadOnly && !FileStore.isDirectory(directory.path)
        if isNew { try FileStore.makeDirectories(directory.path) }
        do {
            let exclusive = try await directory.lock(waiting: duration)
            let recovered =
                try isReadOnly
                ? RedoLog.read(in: directory.path)?.collections ?? []
                : directory.finishCommit()
            let before = try await lock() ?? directory.readableLock().lock
            return DumpsTransaction(
                directory, lock: exclusive, before: before, recovered: recovered, isNewDirectory: isNew,
                isReadOnly: isReadOnly)
        } catch {
            if isNew { try? FileStore.removeIfEmpty(directory.path) }
            throw error
        }
    }

    /// The lock file after the change, as prepared so far.
    package var after: LockFile { next.withLock { $0.lock } }

    /// Returns whether a new bundle of the collection is staged.
    package func hasStaged(_ id: CollectionID) -> Bool { next.withLock { $0.staged.contains(id) } }

    /// Returns the path of the bundle that ``after`` lists.
    package func bundlePath(_ id: CollectionID) -> String {
        hasStaged(id) ? directory.packPath(id) : directory.bundlePath(id)
    }

    /// Packs a snapshot beside the current bundle, and reads the result back. Does I/O.
    ///
    /// If the current bundle has the same content, regardless of compression, that bundle is kept.
    ///
    /// - Parameters:
    ///   - records: the compressed payload, if the caller has already compressed it.
    ///   - settings: the collection's settings. The budget and the pin are checked.
    ///   - server: the URL of the server that the snapshot came from, or the source of an import.
    ///   - accepted: the guards that the state violates although it is accepted.
    /// - Returns: the collection's entry in the new lock file.
    /// - Throws: ``Failure``. In that case, nothing is staged.
    package func stage(
        _ snapshot: Snapshot, attachments: [SHA256Digest: AttachmentInput], records: PackedRecords? = nil,
        settings: DumpsConfiguration.Collection, server: String, accepted: [String] = []
    ) throws -> LockFile.Collection {
        let (id, path) = (snapshot.collection, directory.packPath(snapshot.collection))
        try settings.checkPin(snapshot.timestamp)
        try discard([id])
        try directory.prepareWork()
        do {
            let writer = BundleWriter(
                snapshot, attachments: attachments, compression: settings.compression, packedRecords: records)
            // The commit flushes the file later.
            let written = try writer.write(toNewFile: path, flushing: false)
            try settings.budget.check(size: written.size, of: written.manifest)
            try BundleReader(path: path)
                .verifyContents(of: snapshot.payload, content: written.content)
            var entry = LockFile.Collection(
                written, trust: snapshot.provenance, server: server, attachmentRule: settings.attachments.text)
            entry.accepted = accepted
            if let held = before.collections[id],
                let present = try? BundleAtHand(path: directory.bundlePath(id)),
                present.isFile(of: entry, lockedAs: held)
            {
                // Keep the current file and its `verifiedAt`.
                try FileStore.remove(path)
                (entry.server, entry.bundle, entry.trust) = (held.server, held.bundle, held.trust)
                entry.accepted = held.accepted
                record(entry, of: id, isStaged: false)
            } else {
                record(entry, of: id, isStaged: true)
            }
            return entry
        } catch {
            try? FileStore.remove(path)
            throw error
        }
    }

    /// Stages an existing bundle, which the caller has verified against `entry`. Does I/O.
    ///
    /// - Throws: `Failure` if the bytes have changed since they were verified. In that case, nothing is staged.
    package func stage(_ bundle: Bytes, of id: CollectionID, as entry: LockFile.Collection) throws {
        let path = directory.packPath(id)
        try discard([id])
        try directory.prepareWork()
        do {
            let file = try WritableFile(creating: path)
            defer { file.abandon() }
            try file.write(bundle)
            try file.finish(flushing: false)
            let found = try FileStore.digest(of: path)
            guard found == entry.bundle.sha256 else {
                throw Failure(
                    .damaged, file: path, expected: "SHA-256 \(entry.bundle.sha256), as in the lock file",
                    found: found.hex)
            }
        } catch {
            try? FileStore.remove(path)
            throw error
        }
        record(entry, of: id, isStaged: true)
    }

    /// Replaces the lock file that the commit will write. The current bundles are kept, except those that are staged or
    /// removed.
    func keep(_ lock: LockFile) { next.withLock { $0.lock = lock } }

    /// Removes collections from the lock file and the directory.
    package func remove(_ ids: some Sequence<CollectionID>) throws(Failure) {
        try discard(ids)
        next.withLock { next in
            for id in ids {
                next.lock.collections[id] = nil
                next.removed.insert(id)
            }
        }
    }

    /// Undoes the staged changes of these collections, including removals.
    package func discard(_ ids: some Sequence<CollectionID>) throws(Failure) {
        for id in ids {
            let wasStaged = next.withLock { next in
                next.lock.collections[id] = before.collections[id]
                next.removed.remove(id)
                return next.staged.remove(id) != nil
            }
            if wasStaged { try FileStore.remove(directory.packPath(id), below: directory.path) }
        }
    }

    private func record(_ entry: LockFile.Collection, of id: CollectionID, isStaged: Bool) {
        next.withLock { next in
            next.lock.collections[id] = entry
            if isStaged { next.staged.insert(id) }
        }
    }
}

// MARK: - Commit
extension DumpsTransaction {
    /// Makes the staged bundles, the lock file and `dumps.yaml` current, all of them or none. Does I/O. Must not be
    /// called again after it has succeeded.
    ///
    /// - Parameters:
    ///   - configuration: the directory's configuration after the change. Its budget for all bundles is checked; `nil`
    ///     for a merge, which keeps what two commits had.
    ///   - text: the new text of `dumps.yaml`; `nil` to keep the current one.
    /// - Throws: ``Failure``, in which case nothing has changed; `Failure` for a failed write: if the redo log
    ///   already has effect, the next transaction finishes the commit.
    package func commit(_ configuration: DumpsConfiguration?, text: String? = nil) throws {
        precondition(lock.withLock { $0 != nil }, "the transaction has ended")
        let next = self.next.withLock { $0 }
        if let configuration, !next.staged.isEmpty, let excess = next.lock.excess(over: configuration.totalBudget) {
            throw Failure.overBudget(excess)
        }
        // In a merge, the lock file in the directory may be unreadable, or may differ from `before`.
        let isChanged = next.lock != (try? directory.lockFile())
        let needsLog = isChanged || !next.staged.isEmpty || !next.removed.isEmpty
        let configuration = try text.flatMap(directory.changedConfiguration)
        if needsLog { try directory.write(try log(next, replacesConfiguration: configuration != nil)) }
        // If there is a new `dumps.yaml`, the log takes effect now.
        if let configuration { try directory.writeConfiguration(configuration) }
        if needsLog { try directory.finish(next.lock, staged: next.staged, removed: next.removed) }
    }

    private func log(_ next: Next, replacesConfiguration: Bool) throws(Failure) -> RedoLog {
        let lock = try FileStore.read(directory.lockPath, limit: Limits.lockBytes)
        return RedoLog(
            replaces: lock.map { SHA256Digest(hashing: $0) },
            configuration: replacesConfiguration ? try RedoLog.configuration(in: directory.path) : nil,
            staged: next.staged.sorted(), removed: next.removed.sorted(), lock: next.lock)
    }

    /// Removes temporary files, and the directory itself if it was created for this transaction and is still empty.
    /// Then unlocks it. Does I/O.
    ///
    /// If a commit could not be finished, all files that the next transaction needs for it are kept. Does nothing if
    /// the transaction has already ended.
    ///
    /// - Parameter keepingDownloads: whether to keep downloads for the next refresh, because a collection failed.
    package func end(keepingDownloads: Bool = true) throws(Failure) {
        guard lock.withLock({ $0 != nil }) else { return }
        defer { lock.withLock { $0 = nil } }
        guard !isReadOnly else { return }
        if try FileStore.isDirectory(directory.workPath), try !FileStore.exists(directory.redoLogPath) {
            try directory.finishWork(keepingDownloads: keepingDownloads)
        }
        if isNewDirectory { try FileStore.removeIfEmpty(directory.path) }
    }
}

extension DumpsDirectory {
    package var redoLogPath: String { "\(path)/\(RedoLog.path)" }

    /// Locks the directory for this process, until the returned lock is released.
    ///
    /// - Parameter duration: how long to wait if another process has the lock, in real time.
    /// - Throws: ``Failure`` if another process still has the lock; `Failure`, or `CancellationError`.
    package func lock(waiting duration: Duration) async throws -> DirectoryLock {
        let end = ContinuousClock.now + duration
        while true {
            if let lock = try DirectoryLock(path) { return lock }
            guard ContinuousClock.now < end else { throw Failure.busy(path) }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Flushes the staged bundles, and writes the redo log. From then on, readers use the new state, unless
    /// `dumps.yaml` must be replaced first.
    fileprivate func write(_ log: RedoLog) throws {
        try prepareWork()
        for id in log.staged { try OutputFile.flush(path: packPath(id)) }
        // Flush the directories that lead to the log, so that it cannot be lost in a power failure.
        try FileStore.flush(directory: workPath)
        try FileStore.flush(directory: path)
        try FileStore.replace(redoLogPath, below: path, with: Bytes(log.text), limit: Limits.lockBytes)
    }

    /// Finishes the commit of a killed process, or discards its staged bundles.
    ///
    /// - Returns: the collections of the commit.
    fileprivate func finishCommit() throws -> [CollectionID] {
        try refuseLinks()
        // Remove the temporary files of replacements that were killed.
        for file in [configurationPath, lockPath] { try FileStore.remove("\(file).tmp", below: path) }
        guard let log = try RedoLog.read(in: path) else {
            try FileStore.remove(redoLogPath, below: path)
            try discardStaged()
            return []
        }
        var (next, staged) = (log.lock, Set<CollectionID>())
        for id in log.staged {
            guard let entry = next.collections[id] else { continue }
            if try isBundle(at: packPath(id), entry) {
                staged.insert(id)
            } else if try !isBundle(at: bundlePath(id), entry) {
                // The bundle was removed after the log was written. Keep the collection's old entry.
                next.collections[id] = (try? lockFile())?.collections[id]
            }
        }
        try finish(next, staged: staged, removed: Set(log.removed))
        return log.collections
    }

    private func isBundle(at path: String, _ entry: LockFile.Collection) throws(Failure) -> Bool {
        guard try FileStore.size(path) == entry.bundle.size else { return false }
        return try FileStore.digest(of: path) == entry.bundle.sha256
    }

    /// Runs the steps after the redo log took effect. All of them can be repeated safely.
    fileprivate func finish(_ lock: LockFile, staged: Set<CollectionID>, removed: Set<CollectionID>) throws(Failure) {
        for id in staged.sorted() {
            try FileStore.rename(packPath(id), to: bundlePath(id), below: path, flushing: false)
        }
        try writeLock(lock)
        for id in removed.sorted() where lock.collections[id] == nil {
            let bucket = FileStore.parent(of: bundlePath(id))
            try FileStore.remove(bundlePath(id), below: path)
            // Flush the removal before the log is deleted, so that the bundle cannot reappear after a power failure.
            if try FileStore.isDirectory(bucket) { try FileStore.flush(directory: bucket) }
            try FileStore.removeIfEmpty(bucket)
        }
        try FileStore.remove(redoLogPath, below: path)
        // Otherwise the log could reappear after a power failure, and the next transaction would repeat the commit.
        try FileStore.flush(directory: workPath)
    }

    /// Flushes the directories of the bundles that the lock file lists, then replaces the lock file.
    private func writeLock(_ lock: LockFile) throws(Failure) {
        for bucket in Set(lock.collections.keys.map(\.bucket)).sorted() {
            let directory = "\(path)/\(bucket)"
            if try FileStore.isDirectory(directory) { try FileStore.flush(directory: directory) }
        }
        try FileStore.replace(lockPath, with: Bytes(lock.text), limit: Limits.lockBytes)
    }

    /// Returns the bytes of a new `dumps.yaml`; `nil` if the file already has this text. Reads the file.
    fileprivate func changedConfiguration(_ text: String) throws(Failure) -> Bytes? {
        let text = Bytes(utf8: text)
        return try RedoLog.configuration(in: path) == SHA256Digest(hashing: text) ? nil : text
    }

    /// Replaces `dumps.yaml`.
    fileprivate func writeConfiguration(_ text: Bytes) throws(Failure) {
        try FileStore.replace(configurationPath, with: text, limit: Self.configurationBytes)
    }
}
