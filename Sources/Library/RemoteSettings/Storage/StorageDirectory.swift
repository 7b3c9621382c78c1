import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

#if canImport(Darwin)
import Foundation
#endif

/// The storage directory:
///
/// - `index.json` is the ``StorageIndex``: everything that changes. A rename replaces it, under the directory's lock.
/// - `states/<sha256>` is one snapshot (``CacheFile``). It is named by the hash of its bytes and never modified.
/// - `attachments/<bucket>/<name>/<sha256>` is an attachment.
/// - `chains/<sha256 of its URL>.pem` is a certificate chain.
///
/// | What happens | What a reader finds |
/// |---|---|
/// | a process is killed between a state and the index | the earlier state; a later sync removes the new one's file |
/// | two processes store at once | one after the other: each reads the index under the lock that it writes it under |
/// | the index is lost or damaged | an index made from the files in `states/`, each of which says what it is |
/// | any other file is lost | what else there is; the next sync brings it back |
/// | nothing can be written | what this process has learned, from memory, until another process writes |
package final class StorageDirectory: Sendable {
    private struct State {
        /// The index as it was last read or written.
        var known: StorageIndex?
        /// The file that `known` was read from; `nil` if there was none.
        var identity: FileIdentity?
        /// The states that are not in the directory: they are about to be written, or could not be.
        var unsaved: [SHA256Digest: Bytes] = [:]
    }

    package let path: String
    /// The directory at the path if it is a temporary one. It must be held, because it ends with its last holder.
    private let temporary: TemporaryDirectory?
    /// Whether nothing is ever written or locked.
    let isReadOnly: Bool
    private let limits: Limits
    private let state = Mutex(State())

    /// - Parameter path: a directory's path; or `:memory:` for a private, temporary one that ends with the service.
    init(path: String, isReadOnly: Bool = false, limits: Limits = Limits()) {
        self.isReadOnly = isReadOnly
        self.limits = limits
        let isTemporary = path == ":memory:"
        temporary = isTemporary ? try? TemporaryDirectory() : nil
        // The temporary directory is locked by its owner. The storage has a separate lock, so it is a folder in there.
        // If there is no temporary directory, later writes fail, and their errors name this path.
        self.path = isTemporary ? "\(temporary?.path ?? "/dev/null")/storage" : path
        if isTemporary { try? FileStore.makeDirectories(self.path) }
    }

    var indexPath: String { "\(path)/index.json" }
    var statesPath: String { "\(path)/states" }
    var chainsPath: String { "\(path)/chains" }
    func statePath(_ file: SHA256Digest) -> String { "\(statesPath)/\(file.hex)" }
    /// Each capital letter follows a `=`, so that names that differ in case differ on every file system.
    func attachmentsPath(_ id: CollectionID) -> String {
        let name = "\(id)".unicodeScalars.map { ("A"..."Z").contains($0) ? "=\($0)" : "\($0)" }.joined()
        return "\(path)/attachments/\(name)"
    }

    func attachmentPath(_ id: CollectionID, _ digest: SHA256Digest) -> String {
        "\(attachmentsPath(id))/\(digest.hex)"
    }

    func chainPath(x5u: String) -> String {
        "\(chainsPath)/\(SHA256Digest(hashing: Bytes(utf8: x5u)).hex).pem"
    }
}

// MARK: - The index

extension StorageDirectory {
    /// The index as it is now. If nothing has changed, this costs one `lstat`.
    package func index() -> StorageIndex { readIndex().index }

    /// The index, and why the file cannot be read.
    ///
    /// If it cannot be read at the moment, for example before a device is first unlocked, what is known of it counts.
    func readIndex() -> (index: StorageIndex, problem: (any Error)?) {
        do {
            let identity = try FileStore.identity(indexPath)
            let known = state.withLock { $0.identity == identity ? $0.known : nil }
            if let known { return (known, nil) }
            let index = try read()
            // A process keeps what it could not write only as long as no other one has written.
            state.withLock { ($0.known, $0.identity) = (index, identity) }
            return (index, nil)
        } catch {
            return (state.withLock { $0.known } ?? StorageIndex(), error)
        }
    }

    /// Reads the file. An index that is lost or damaged is made from the states.
    private func read() throws -> StorageIndex {
        do {
            guard let content = try FileStore.read(indexPath, limit: StorageIndex.mostBytes) else { return rebuilt() }
            return try StorageIndex(parsing: content)
        } catch let error as BundleError {
            // Something else that somebody has put there is replaced, but not what a later version has written.
            guard error.isTooLarge || error.isWrongKind || error.code == .malformed else { throw error }
        } catch {}
        return rebuilt()
    }

    /// An index of the states that are there. The newest of a collection is the current one.
    private func rebuilt() -> StorageIndex {
        var found: [String: [StoredState]] = [:]
        for name in (try? FileStore.list(statesPath)) ?? [] {
            guard let digest = SHA256Digest(hex: name),
                let content = try? FileStore.read(statePath(digest), limit: Self.mostStateBytes(limits)),
                SHA256Digest(hashing: content) == digest,
                let file = try? CacheFile(parsing: content, of: nil, path: statePath(digest), limits: limits)
            else { continue }
            let key = StorageIndex.key(
                of: file.collection, in: file.publisher ?? ServerIdentity(file.server).description)
            found[key, default: []].append(StoredState(file, content: content, digest: digest, limits: limits))
        }
        var index = StorageIndex()
        for (key, states) in found {
            let sorted = states.sorted { $0.timestamp > $1.timestamp }
            index[key].synced.current = sorted[0]
            index[key].synced.previous = sorted.dropFirst().first
        }
        return index
    }

    static func mostStateBytes(_ limits: Limits) -> Int { limits.changesetBytes + limits.metadataBytes * 2 }

    /// How long a change waits for another process that is writing.
    package enum Waiting {
        case no
        /// At most 20 ms: somebody waits on the main thread.
        case briefly
        case long

        fileprivate func milliseconds(_ limits: Limits) -> Int {
            switch self {
            case .no: 0
            case .briefly: 20
            case .long: limits.storageLockSeconds * 1000
            }
        }
    }

    /// Changes the index while no other process or session does. Blocks the thread.
    ///
    /// If it cannot be written, this process keeps the change in memory all the same.
    ///
    /// - Parameters:
    ///   - flushing: whether the change must survive a failure of the machine.
    ///   - mustBeStored: whether nothing changes if it cannot be written. The reason is then thrown.
    ///   - change: is called once. If it throws, nothing changes.
    ///   - then: is called under the same lock after the index was written.
    /// - Returns: what `change` returns, and why the change could not be written.
    package func update<Value>(
        waiting: Waiting, flushing: Bool = true, mustBeStored: Bool = false,
        _ change: (inout StorageIndex) throws -> Value,
        then: (StorageIndex) -> Void = { _ in }
    ) throws -> (value: Value, problem: (any Error)?) {
        let step = 2
        for wait in 0...(waiting.milliseconds(limits) / step) {
            if wait > 0 { FileStore.pause(microseconds: UInt32(step) * 1000) }
            if let done = try tryUpdate(flushing, mustBeStored, change, then) { return done }
        }
        return try changeInMemory(busy(waiting), mustBeStored, change)
    }

    /// Like the blocking one, without blocking the thread.
    package func update<Value>(
        flushing: Bool = true, mustBeStored: Bool = false, _ change: (inout StorageIndex) throws -> Value,
        then: (StorageIndex) -> Void = { _ in }
    ) async throws -> (value: Value, problem: (any Error)?) {
        let step = 20
        for wait in 0...(Waiting.long.milliseconds(limits) / step) {
            // Other processes hold the lock in real time, whatever the configured clock says.
            if wait > 0 { try await WorkThreads.sleep(for: .milliseconds(step)) }
            if let done = try tryUpdate(flushing, mustBeStored, change, then) { return done }
        }
        return try changeInMemory(busy(.long), mustBeStored, change)
    }

    private func busy(_ waiting: Waiting) -> RemoteSettingsError {
        let time = waiting.milliseconds(limits)
        return .storage(
            reason: "\(path): another process has been writing to the storage directory for more than "
                + (time < 1000 ? "\(time) ms" : "\(time / 1000) s") + "; try again later")
    }

    /// - Returns: `nil` if another process holds the lock.
    private func tryUpdate<Value>(
        _ flushing: Bool, _ mustBeStored: Bool, _ change: (inout StorageIndex) throws -> Value,
        _ then: (StorageIndex) -> Void
    ) throws -> (value: Value, problem: (any Error)?)? {
        guard !isReadOnly else { return try changeInMemory(nil, mustBeStored, change) }
        let lock: DirectoryLock
        var (old, problem) = (StorageIndex(), nil as (any Error)?)
        do {
            try prepare()
            guard let free = try DirectoryLock(path) else { return nil }
            lock = free
            (old, problem) = readIndex()
            if let problem { throw problem }
        } catch let error as BundleError where error.code == .unknownVersion {
            // A later version of the library, which is at work here as well, keeps what there is to keep.
            return try changeInMemory(nil, mustBeStored, change)
        } catch {
            return try changeInMemory(error, mustBeStored, change)
        }
        defer { withExtendedLifetime(lock) {} }
        var new = old
        let value: Value
        do {
            value = try change(&new)
        } catch {
            dropUnsaved(except: old)
            throw error
        }
        do {
            try save(new, after: old, flushing: flushing)
            then(new)
            return (value, nil)
        } catch {
            guard !mustBeStored else { throw error }
            state.withLock { $0.known = new }
            return (value, error)
        }
    }

    private func changeInMemory<Value>(
        _ problem: (any Error)?, _ mustBeStored: Bool, _ change: (inout StorageIndex) throws -> Value
    ) throws -> (value: Value, problem: (any Error)?) {
        if mustBeStored, let problem { throw problem }
        var index = index()
        do {
            let value = try change(&index)
            state.withLock { $0.known = index }
            return (value, problem)
        } catch {
            dropUnsaved(except: index)
            throw error
        }
    }

    private func dropUnsaved(except index: StorageIndex) {
        let states = index.states
        state.withLock { state in state.unsaved = state.unsaved.filter { states.contains($0.key) } }
    }

    /// Writes the states that the index names and that are not in the directory, then the index.
    private func save(_ new: StorageIndex, after old: StorageIndex, flushing: Bool) throws(BundleError) {
        let (states, unsaved) = (new.states, state.withLock { $0.unsaved })
        // An index that is made again must not find a catalogue before all states that it lists.
        let catalogues = new.catalogueStates
        for file in states.subtracting(catalogues).sorted(by: { $0.hex < $1.hex }) + catalogues {
            guard let content = unsaved[file] else { continue }
            try FileStore.replace(statePath(file), below: path, with: content, limit: Self.mostStateBytes(limits))
        }
        let isLost = try FileStore.identity(indexPath) == nil
        if new != old || isLost || !unsaved.isEmpty {
            if try FileStore.isDirectory(indexPath) { try FileStore.removeTree(indexPath, below: path) }
            try FileStore.replace(
                indexPath, below: path, with: new.bytes, limit: StorageIndex.mostBytes,
                flushing: flushing || new.mustSurvive)
        }
        let identity = try? FileStore.identity(indexPath)
        state.withLock { state in
            (state.known, state.identity) = (new, identity)
            state.unsaved = [:]
        }
        if states != old.states || !unsaved.isEmpty { removeStates(except: states) }
    }

    /// Removes the states that a killed process has left.
    func removeAbandonedStates() {
        guard !isReadOnly, let names = try? FileStore.list(statesPath), names.count != index().states.count else {
            return
        }
        _ = try? update(waiting: .no, flushing: false) { _ in
        } then: {
            removeStates(except: $0.states)
        }
    }

    /// Removes the states that nothing refers to. Whoever was about to read one reads the index again.
    private func removeStates(except states: Set<SHA256Digest>) {
        for name in (try? FileStore.list(statesPath)) ?? [] {
            if let file = SHA256Digest(hex: name), states.contains(file) { continue }
            // A file that cannot be removed takes room, but does no other harm.
            try? FileStore.remove("\(statesPath)/\(name)", below: path)
        }
    }
}

// MARK: - States

extension StorageDirectory {
    /// Makes a state part of the change that is under way. Call it while the index is changed.
    func add(_ file: CacheFile) -> StoredState {
        let content = file.bytes
        let stored = StoredState(file, content: content, digest: SHA256Digest(hashing: content), limits: limits)
        state.withLock { $0.unsaved[stored.file] = content }
        return stored
    }

    /// Reads a state into private memory, so that nobody can change what was verified.
    ///
    /// - Returns: `nil` if its file is not there.
    func file(of stored: StoredState, _ id: CollectionID) throws -> CacheFile? {
        let path = statePath(stored.file)
        let content =
            try state.withLock { $0.unsaved[stored.file] }
            ?? FileStore.read(path, limit: Self.mostStateBytes(limits))
        guard let content else { return nil }
        let file = try CacheFile(parsing: content, of: id, path: path, limits: limits)
        // Where nobody has signed, only this hash shows whether the file is whole.
        guard file.chain != nil || SHA256Digest(hashing: content) == stored.file else {
            throw BundleError.cacheFile(path, "its SHA-256 does not match its name")
        }
        return file
    }

    /// Whether a state is there with its size. Its content may be damaged.
    func has(_ stored: StoredState) -> Bool {
        state.withLock { $0.unsaved[stored.file] != nil }
            || (try? FileStore.size(statePath(stored.file))) == stored.size
    }

    /// Whether a state is only in memory, because it could not be written.
    var hasUnsaved: Bool { state.withLock { !$0.unsaved.isEmpty } }

    /// Whether a state is there and whole. Reads all of it.
    func isWhole(_ stored: StoredState) -> Bool {
        if state.withLock({ $0.unsaved[stored.file] != nil }) { return true }
        return has(stored) && (try? FileStore.digest(of: statePath(stored.file))) == stored.file
    }
}

extension StoredState {
    init(_ file: CacheFile, content: Bytes, digest: SHA256Digest, limits: Limits) {
        let chain = file.chain.flatMap { KeptChains(text: $0).chains.first }
        self.init(
            file: digest, size: content.count,
            state: .init(timestamp: file.timestamp, payload: SHA256Digest(hashing: file.payload)),
            server: file.server,
            root: chain.flatMap { try? CertificateChain(pem: $0, limits: limits).root })
    }
}

// MARK: - The directory

extension StorageDirectory {
    /// Makes the directory if there is none. Whoever writes asks for this first.
    ///
    /// On Apple systems it is left out of device backups, because its content can be fetched again. It can be read from
    /// the device's first unlock on.
    func prepare() throws(BundleError) {
        guard !isReadOnly else { throw BundleError("write below", path, errno: BundleError.readOnly) }
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

    /// The seconds after which temporary files are removed. Interrupted downloads leave them.
    private static let leftoverSeconds: Int64 = 86_400

    /// Whether another process may be writing a temporary file.
    func mayBeWritten(_ path: String, now: Timestamp) throws(BundleError) -> Bool {
        guard let changed = try FileStore.identity(path)?.seconds else { return false }
        return changed > Int64(clamping: now.seconds).saturatingAdding(-Self.leftoverSeconds)
    }

    /// The endings of the names of files of an earlier layout, which nothing reads any more.
    private static let earlierEndings: Set<String> = [
        "snapshot", "snapshot.damaged", "staged", "previous", "trial", "config", "config.trial", "config.previous",
        "config.override", "config.override.trial", "config.override.previous", "config.schedule", "attachments",
    ]

    /// Removes what the layout before this one has left.
    func removeEarlierLayout() throws(BundleError) {
        guard !isReadOnly else { return }
        for name in [".backoff.json", ".syncs.json", ".schedule.json", ".updates.json"] {
            try FileStore.remove("\(path)/\(name)", below: path)
        }
        try FileStore.removeTree("\(path)/.chains", below: path)
        for bucket in try FileStore.list(path) ?? [] where !["states", "attachments", "chains"].contains(bucket) {
            guard try FileStore.isDirectory("\(path)/\(bucket)") else { continue }
            for name in try FileStore.list("\(path)/\(bucket)") ?? [] {
                let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                guard parts.count == 2, Self.earlierEndings.contains(parts[1]),
                    (try? CollectionID(bucket: bucket, name: parts[0])) != nil
                else { continue }
                try FileStore.removeTree("\(path)/\(bucket)/\(name)", below: path)
            }
            try FileStore.removeIfEmpty("\(path)/\(bucket)")
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
        guard !storage.isReadOnly else { return }
        // A chain that cannot be stored is fetched again next time.
        try? storage.prepare()
        let path = storage.chainPath(x5u: x5u)
        try? FileStore.replace(path, below: storage.path, with: pem, limit: limits.chainBytes, isContended: true)
        try? removeOldest(except: path)
    }

    /// Removes the oldest files beyond ``Limits/keptChains``, including those that killed processes have left.
    private func removeOldest(except new: String) throws(BundleError) {
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
