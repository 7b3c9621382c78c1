import FileStorage
import RemoteSettingsModel
import SnapshotFetch

/// Writes what a sync has verified into the storage directory.
struct CacheStore: Sendable {
    let session: Session
    let id: CollectionID

    /// Stores a state, or takes over the one that another process has stored meanwhile, where that is newer.
    ///
    /// - Returns: what serves now.
    /// - Throws: `FileError`, or `RemoteSettingsError` where another process holds the directory for too long.
    func store(_ fetched: CollectionFetcher.Fetched, over loaded: LoadedCollection) async throws -> LoadedCollection {
        try await session.withStorageLock {
            let storage = session.storage
            if storage.identity(id) != loaded.cacheIdentity {
                let present = session.loader.load(id)
                if let held = present.held, held.source == .cached, held.timestamp >= fetched.snapshot.timestamp {
                    return present
                }
            }
            // Asked under the lock, so that a configuration that was replaced cannot write behind the new one.
            guard !session.isClosed else { throw RemoteSettingsError.closed }
            let server = try session.server.get()
            let attachments = CachedAttachments(storage: storage, id: id)
            let stale = attachments.stale(from: loaded.held, to: fetched.snapshot.records)
            let file = CacheFile(
                fetched.snapshot, server: "\(server)",
                highWaterMark: fetched.snapshot.timestamp)
            try FileStore.makeDirectories(FileStore.parent(of: storage.snapshotPath(id)))
            try FileStore.remove(storage.previousPath(id))
            // Without it there is no fallback to old attachments, no more.
            if !stale.isEmpty { try? FileStore.link(storage.snapshotPath(id), as: storage.previousPath(id)) }
            try FileStore.replace(storage.snapshotPath(id), with: file.bytes)
            attachments.removeOrphans(keeping: fetched.snapshot.records, stale, now: session.now)

            var stored = loaded
            stored.held = HeldSnapshot(source: .cached, snapshot: fetched.snapshot, isCheckedHere: true)
            stored.highWaterMark = file.highWaterMark
            if file.chain != nil { stored.noteSigned(asOf: file.timestamp) }
            stored.cacheIdentity = storage.identity(id)
            stored.unused.removeAll { $0.source == .cached }
            if case .packaged? = loaded.held?.source, let old = loaded.held {
                stored.unused.append(.init(source: old.source, timestamp: old.timestamp, reason: .older))
            }
            return stored
        }
    }
}

extension Session {
    /// Runs `body` while no other writer works in the storage directory. Waits for others up to
    /// ``Limits/storageLockSeconds``.
    func withStorageLock<Value>(_ body: () throws -> Value) async throws -> Value {
        try storage.prepare()
        let pause = Duration.milliseconds(20)
        for _ in 0...(limits.storageLockSeconds * 50) {
            if let lock = try DirectoryLock(storage.path) {
                defer { withExtendedLifetime(lock) {} }
                return try body()
            }
            try await config.environment.sleep(pause)
        }
        throw RemoteSettingsError.storageIsBusy(storage.path, seconds: limits.storageLockSeconds)
    }
}

extension RemoteSettingsError {
    static func storageIsBusy(_ path: String, seconds: Int) -> RemoteSettingsError {
        .Other(
            reason: "\(path): another process has been writing to the storage directory for more than \(seconds) s; "
                + "try again later")
    }
}
