import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

#if canImport(Darwin)
import Foundation
import RemoteSettingsModel
#endif

/// Which version of a cache file was read.
typealias CacheIdentity = FileIdentity

/// The storage directory, which holds what syncs and downloads have stored:
///
/// - `<bucket>/<collection>.snapshot` is a ``CacheFile``;
/// - `<bucket>/<collection>.previous` is the one before it, if some of its attachments may still be of use, or if the
///   app can go back to it; `.config.previous` is the one that remote config can go back to;
/// - `<bucket>/<collection>.trial` is a ``StateTrial``, and `.config.trial` one of what remote config has activated;
/// - `<bucket>/<collection>.staged` is the ``CacheFile`` of a catalogue that is being stored, or that a process stored
///   but did not live to rename;
/// - `<bucket>/<collection>.snapshot.damaged` is the last ``CacheFile`` that a read has refused;
/// - `<bucket>/<collection>.attachments/<sha256>` is an attachment; `<sha256>.keep` beside it keeps it when no record
///   has it any more;
/// - `<bucket>/<collection>.config` is what remote config keeps about the collection;
/// - `.chains/<sha256 of its URL>.pem` is a certificate chain;
/// - `.backoff.json` says which servers asked for no requests, and until when;
/// - `.syncs.json` is a ``SyncJournal``;
/// - `.schedule.json` says when the last scheduled sync was made;
/// - `.updates.json` holds what the next start must know about failed connections to the update channel.
///
/// Ids contain no dot, so no two of these names can collide. The names are the same in every version of the package.
struct StorageDirectory: Sendable {
    let path: String
    /// The directory at the path if it is a temporary one. It must be held, because it ends with its last holder.
    private let temporary: TemporaryDirectory?

    /// - Parameter path: a directory's path; or `:memory:` for a private, temporary one that ends with the service.
    init(path: String) {
        let isTemporary = path == ":memory:"
        temporary = isTemporary ? try? TemporaryDirectory() : nil
        // The temporary directory is locked by its owner. The storage has a separate lock, so it is a folder in there.
        // If there is no temporary directory, later writes fail, and their errors name this path.
        self.path = isTemporary ? "\(temporary?.path ?? "/dev/null")/storage" : path
        if isTemporary { try? FileStore.makeDirectories(self.path) }
    }

    var backoffPath: String { "\(path)/.backoff.json" }
    var chainsPath: String { "\(path)/.chains" }
    var journalPath: String { "\(path)/.syncs.json" }
    var schedulePath: String { "\(path)/.schedule.json" }
    var updatesPath: String { "\(path)/.updates.json" }

    func snapshotPath(_ id: CollectionID) -> String { "\(path)/\(id.bucket)/\(id.name).snapshot" }
    func stagedPath(_ id: CollectionID) -> String { "\(path)/\(id.bucket)/\(id.name).staged" }
    func damagedPath(_ id: CollectionID) -> String { snapshotPath(id) + ".damaged" }
    func previousPath(_ id: CollectionID) -> String { "\(path)/\(id.bucket)/\(id.name).previous" }
    func trialPath(_ id: CollectionID) -> String { "\(path)/\(id.bucket)/\(id.name).trial" }
    func keptPath(_ id: CollectionID) -> String { "\(path)/\(id.bucket)/\(id.name).config" }
    /// The times of scheduled fetches of remote config.
    func schedulePath(of id: CollectionID) -> String { keptPath(id) + ".schedule" }
    func keptOverridePath(_ id: CollectionID) -> String { keptPath(id) + ".override" }
    func attachmentsPath(_ id: CollectionID) -> String { "\(path)/\(id.bucket)/\(id.name).attachments" }
    func attachmentPath(_ id: CollectionID, _ digest: SHA256Digest) -> String {
        "\(attachmentsPath(id))/\(digest.hex)"
    }

    func chainPath(x5u: String) -> String {
        "\(chainsPath)/\(SHA256Digest(hashing: Bytes(utf8: x5u)).hex).pem"
    }

    /// Makes the directory if there is none.
    ///
    /// On Apple systems it is left out of device backups, because its content can be fetched again. It can be read from
    /// the device's first unlock on.
    func prepare() throws(FileError) {
        // A temporary directory is there from the start. If it was removed, the process is about to end.
        guard temporary == nil else { return }
        let isThere = try FileStore.isDirectory(path)
        if !isThere { try FileStore.makeDirectories(path) }
        #if canImport(Darwin)
        if Self.attributed.withLock({ $0.insert(path).inserted }) || !isThere { setAttributes() }
        #endif
    }

    #if canImport(Darwin)
    /// The paths whose attributes this process has set. An app may have made the directory itself, so each path is
    /// set once.
    private static let attributed = Mutex<Set<String>>([])

    /// Attributes that the file system does not support are left out. Nothing depends on them.
    private func setAttributes() {
        var url = URL(fileURLWithPath: path, isDirectory: true)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try? url.setResourceValues(values)
        // Files that are made below it inherit this. An app can ask for stricter protection of all its files, but
        // then a refresh in the background could read nothing while the device is locked.
        try? FileManager.default.setAttributes(
            [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: path)
    }
    #endif

    /// Reads a collection's cache file into private memory, so that nobody can change what was verified.
    ///
    /// - Returns: `nil` if there is none.
    func cacheFile(_ id: CollectionID, at path: String, limits: Limits) throws -> CacheFile? {
        guard let content = try FileStore.read(path, limit: Self.mostCacheBytes(limits)) else {
            return nil
        }
        return try CacheFile(parsing: content, of: id, path: path, limits: limits)
    }

    /// The first line of a collection's cache file; `nil` if there is no such file. Does I/O, and verifies nothing.
    ///
    /// - Throws: if ``cacheFile(_:at:limits:)`` would refuse the file.
    ///
    /// - Parameter path: where the file is; `nil` for the cache file itself.
    func head(of id: CollectionID, at path: String? = nil, limits: Limits) throws -> CacheFile? {
        let (path, limit) = (path ?? snapshotPath(id), Self.mostCacheBytes(limits))
        guard let (beginning, size) = try FileStore.readBeginning(path, most: limits.cacheHeadBytes) else { return nil }
        guard size <= limit else {
            throw CacheFileError(path: path, problem: "expected at most \(limit) bytes, found \(size)")
        }
        return try CacheFile.head(parsing: beginning, fileSize: size, of: id, path: path, limits: limits).head
    }

    static func mostCacheBytes(_ limits: Limits) -> Int { limits.changesetBytes + limits.metadataBytes * 2 }

    /// Makes the directory, and runs `body` while no other process or session writes to it. Blocks the thread.
    ///
    /// - Parameter tries: how often the lock is asked for, with pauses of 2 ms.
    func withLockBlocking<Value>(tries: Int, _ body: () throws -> Value) throws -> Value {
        try prepare()
        for _ in 0..<max(1, tries) {
            if let lock = try DirectoryLock(path) {
                defer { withExtendedLifetime(lock) {} }
                return try body()
            }
            FileStore.pause(microseconds: 2000)
        }
        throw RemoteSettingsError.storageIsBusy(path, seconds: tries / 500)
    }

    /// The seconds after which temporary files are removed. Interrupted downloads and killed writers leave them.
    private static let leftoverSeconds: Int64 = 86_400

    /// Whether another process may be writing a temporary file.
    func mayBeWritten(_ path: String, now: Timestamp) throws(FileError) -> Bool {
        guard let changed = try FileStore.identity(path)?.seconds else { return false }
        return changed > Int64(clamping: now.seconds).saturatingAdding(-Self.leftoverSeconds)
    }

    /// Removes temporary files of killed writers that no later writer would reuse.
    ///
    /// They lie beside the files that several processes replace without the lock, each under a unique name.
    func removeLeftovers(now: Timestamp) throws(FileError) {
        for name in try FileStore.list(path) ?? [] where name.hasPrefix(".") && name.hasSuffix(".tmp") {
            let leftover = "\(path)/\(name)"
            guard case .file? = try FileStore.kind(leftover), try !mayBeWritten(leftover, now: now) else { continue }
            try FileStore.remove(leftover, below: path)
        }
    }

    /// Removes everything that was stored of a collection.
    func remove(_ id: CollectionID) throws(FileError) {
        let kept = [keptPath(id), keptOverridePath(id)].flatMap {
            [$0, configTrial(of: $0).path, configTrial(of: $0).previousPath]
        }
        let ours = [
            snapshotPath(id), stagedPath(id), previousPath(id), damagedPath(id), trialPath(id), schedulePath(of: id),
        ]
        for file in ours + kept {
            try FileStore.remove(file, below: path)
        }
        try FileStore.removeTree(attachmentsPath(id), below: path)
    }

    /// The end of the name of a file that keeps the attachment of the same name.
    static let keepMark = ".keep"

    /// Keeps an attachment when no record has it any more. It need not be stored yet.
    func keep(_ digest: SHA256Digest, of id: CollectionID) throws(FileError) {
        try prepare()
        let mark = attachmentPath(id, digest) + Self.keepMark
        guard try FileStore.size(mark) == nil else { return }
        try FileStore.replace(mark, below: path, with: Bytes(), isContended: true)
    }

    /// Removes an attachment and its keep mark.
    func remove(_ digest: SHA256Digest, of id: CollectionID) throws(FileError) {
        let path = attachmentPath(id, digest)
        try FileStore.remove(path + Self.keepMark, below: self.path)
        try FileStore.remove(path, below: self.path)
    }

    /// The collections that have something stored, sorted. Nothing is read through a link.
    func collections() throws(FileError) -> [CollectionID] { try collections(with: Self.endings) }

    /// The collections whose state of a catalogue waits for its final name, sorted.
    func stagedCollections() throws(FileError) -> [CollectionID] { try collections(with: ["staged"]) }

    private func collections(with endings: Set<String>) throws(FileError) -> [CollectionID] {
        var found: Set<CollectionID> = []
        for bucket in try FileStore.list(path) ?? [] where try FileStore.isDirectory("\(path)/\(bucket)") {
            for name in try FileStore.list("\(path)/\(bucket)") ?? [] {
                let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, endings.contains(String(parts[1])),
                    let id = try? CollectionID(bucket: bucket, name: String(parts[0]))
                else { continue }
                found.insert(id)
            }
        }
        return found.sorted()
    }

    /// The endings of the names of a collection's files and directories.
    private static let endings: Set<String> = [
        "snapshot", "snapshot.damaged", "staged", "previous", "attachments", "config", "trial",
    ]

    /// The version of the cache file that is there; `nil` if there is none.
    func identity(_ id: CollectionID) throws(FileError) -> CacheIdentity? {
        try FileStore.identity(snapshotPath(id))
    }

    /// Renames a cache file that cannot be used, so that it can be looked at later.
    ///
    /// It does nothing if another version has replaced the file, or if somebody is writing one at this moment.
    ///
    /// - Returns: the version that is there now.
    func setAside(_ id: CollectionID, _ identity: CacheIdentity) -> CacheIdentity? {
        let path = snapshotPath(id)
        if let lock = try? DirectoryLock(self.path) {
            defer { withExtendedLifetime(lock) {} }
            if (try? FileStore.identity(path)) == identity {
                try? FileStore.rename(path, to: damagedPath(id), below: self.path)
            }
        }
        return try? FileStore.identity(path)
    }

    /// The high-water mark of a file that was set aside, if it can still be read.
    func markOfDamaged(_ id: CollectionID, limits: Limits) -> HighWaterMark? {
        do {
            return try cacheFile(id, at: damagedPath(id), limits: limits)?.mark
        } catch {
            return (error as? CacheFileError)?.mark
        }
    }
}

/// The certificate chains in the storage directory, by their URL. They are verified at every use.
struct ChainDirectory: ChainStore.Keeper {
    let storage: StorageDirectory
    let limits: Limits

    func chain(x5u: String) -> Bytes? {
        try? FileStore.read(storage.chainPath(x5u: x5u), limit: limits.chainBytes)
    }

    func keep(_ pem: Bytes, x5u: String) {
        // A chain that cannot be stored is fetched again next time.
        try? storage.prepare()
        let path = storage.chainPath(x5u: x5u)
        try? FileStore.replace(path, below: storage.path, with: pem, limit: limits.chainBytes, isContended: true)
        try? removeOldest(except: path)
    }

    /// Removes the oldest files beyond ``Limits/keptChains``, including those that killed processes have left.
    private func removeOldest(except new: String) throws(FileError) {
        let directory = storage.chainsPath
        guard try FileStore.isDirectory(directory), let names = try FileStore.list(directory),
            names.count > Limits.keptChains
        else { return }
        let others = names.map { "\(directory)/\($0)" }.filter { $0 != new }
            .map { (path: $0, changed: (try? FileStore.identity($0))?.seconds ?? .min) }
            .sorted { $0.changed > $1.changed }
        for other in others.dropFirst(max(0, Limits.keptChains - 1)) {
            try FileStore.remove(other.path, below: storage.path)
        }
    }
}
