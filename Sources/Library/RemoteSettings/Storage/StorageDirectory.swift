import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

#if canImport(Darwin)
import Foundation
#endif

/// The storage directory:
///
/// - `index.json` is the ``StorageIndex``, which contains all mutable data. It is replaced by a rename, under the
///   directory's lock.
/// - `states/<sha256>` is one snapshot (``CacheFile``). It is named after the hash of its bytes and never modified.
/// - `attachments/<bucket>/<name>/<sha256>` is an attachment.
/// - `chains/<sha256 of its URL>.pem` is a certificate chain.
///
/// | Event | State found by a reader |
/// |---|---|
/// | a process is killed between writing a state and the index | the earlier state; a later sync removes the new file |
/// | the same during the first sync, when there is no index yet | the new state, as if the index were lost |
/// | two processes store at the same time | first one, then the other: each reads and writes the index under one lock |
/// | the index is lost or damaged | an index rebuilt from the files in `states/`, which describe themselves |
/// | any other file is lost | any other usable state; the next sync restores the file |
/// | a read refuses the current state | any other usable state; the index records it, and the next sync fetches |
/// | nothing can be written | this process's changes, from memory, until it reads what another process has written |
///
/// A rebuilt index has no rejected states, counted starts, activations and schedules.
package final class StorageDirectory: Sendable {
    private struct State {
        /// The index as it was last read or changed.
        var known: StorageIndex?
        /// Changes with `known`, and when a thread begins to write.
        var version: UInt64 = 0
        /// The content of the file, as it was last read or written.
        var written: StorageIndex?
        /// The identity of the file with that content; `nil` if there was none.
        var identity: FileIdentity?
        /// While a thread of this process changes and writes `known`, under the directory's lock: the index that
        /// readers get. They must not use a state that would be lost if the process were killed.
        var before: StorageIndex?

        /// The index for readers.
        var readable: StorageIndex? { before ?? known }

        /// Replaces the index. Changes that this process could not write are discarded.
        mutating func install(_ index: StorageIndex, _ identity: FileIdentity?) {
            (known, written, version, self.identity) = (index, index, version &+ 1, identity)
        }
    }

    package let path: String
    /// The temporary directory, if there is one. This reference keeps it alive: it is deleted with its last reference.
    private let temporary: TemporaryDirectory?
    /// Whether the directory is only read, and never locked.
    let isReadOnly: Bool
    private let state = Mutex(State())

    /// Creates a storage directory.
    ///
    /// - Parameter path: a directory's path; `nil` for a private, temporary directory that is deleted with the service.
    init(path: String?, isReadOnly: Bool = false) {
        self.isReadOnly = isReadOnly
        temporary = path == nil ? try? TemporaryDirectory() : nil
        // The owner of the temporary directory holds a lock on it. The storage needs a separate lock, so it is a
        // subdirectory. If there is no temporary directory, later writes fail with errors that contain this path.
        self.path = path ?? "\(temporary?.path ?? "/dev/null")/storage"
        if path == nil { try? FileStore.makeDirectories(self.path) }
    }

    var indexPath: String { "\(path)/index.json" }
    var statesPath: String { "\(path)/states" }
    var chainsPath: String { "\(path)/chains" }
    var allAttachmentsPath: String { "\(path)/attachments" }
    func statePath(_ file: SHA256Digest) -> String { "\(statesPath)/\(file.hex)" }
    /// Returns the path of a collection's attachments. Each capital letter follows a `=`, so that names that differ
    /// only in case are distinct on every file system.
    func attachmentsPath(_ id: CollectionID) -> String {
        let name = "\(id)".unicodeScalars.map { ("A"..."Z").contains($0) ? "=\($0)" : "\($0)" }.joined()
        return "\(allAttachmentsPath)/\(name)"
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
    /// Returns the current index. If the file has not changed, this costs one `lstat`.
    package func index() -> StorageIndex { readIndex().index }

    /// Returns the index, and the error if the file could not be read.
    ///
    /// If the file cannot be read at the moment, for example before the device's first unlock, the index is the last
    /// known one.
    func readIndex() -> (index: StorageIndex, problem: (any Error)?) {
        let (state, problem) = readState()
        return (state.readable ?? StorageIndex(), problem)
    }

    /// Reads the file if it has changed.
    private func readState() -> (State, problem: (any Error)?) {
        // The file after the memory: if another thread writes in between, the version has changed.
        let seen = state.withLock { $0 }
        guard seen.before == nil else { return (seen, nil) }
        do {
            let identity = try FileStore.identity(indexPath)
            if seen.known != nil, seen.identity == identity { return (seen, nil) }
            let index = try read()
            return state.withLock { state in
                // Another thread may have changed the index meanwhile. If the file is newer, the next call reads it.
                if state.version == seen.version, state.before == nil { state.install(index, identity) }
                return (state, nil)
            }
        } catch {
            return (state.withLock { $0 }, error)
        }
    }

    /// Reads the file. If it is lost or damaged, the index is rebuilt from the states.
    private func read() throws -> StorageIndex {
        do {
            guard let content = try FileStore.read(indexPath, limit: StorageIndex.mostBytes) else { return rebuilt() }
            return try StorageIndex(parsing: content)
        } catch let error as Failure where error.isOfUnreadFile || error.code == .unknownVersion {
            // A foreign or damaged file is replaced, but not one that a later version of the library has written.
            throw error
        } catch {}
        return rebuilt()
    }

    /// Rebuilds the index from the stored states. The best state of a collection becomes the current one.
    private func rebuilt() -> StorageIndex {
        var found: [String: [StoredState]] = [:]
        for name in (try? FileStore.list(statesPath, isLossy: true)) ?? [] {
            guard let digest = SHA256Digest(hex: name),
                let content = try? FileStore.read(statePath(digest), limit: Self.mostStateBytes),
                SHA256Digest(hashing: content) == digest,
                let file = try? CacheFile(parsing: content, of: nil, path: statePath(digest))
            else { continue }
            let key = StorageIndex.key(of: file.collection, in: ServerIdentity(file.server).description)
            found[key, default: []].append(StoredState(file, content: content, digest: digest))
        }
        var index = StorageIndex()
        for (key, states) in found {
            let sorted = states.sorted {
                succession(of: $0.standing, after: $1.standing, in: Situation(.stored)) == .replace
            }
            index[key].synced.current = sorted[0]
            index[key].synced.previous = sorted.dropFirst().first
        }
        return index
    }

    static let mostStateBytes = Limits.changesetBytes + Limits.metadataBytes * 2

    /// How long a change of the index waits for another process that is writing.
    package enum Waiting {
        case no
        /// At most 20 ms, because the main thread may be waiting.
        case briefly
        case long

        fileprivate var milliseconds: Int {
            switch self {
            case .no: 0
            case .briefly: 20
            case .long: Limits.storageLockSeconds * 1000
            }
        }
    }

    /// Changes the index while no other process or session does. Blocks the thread.
    ///
    /// If the index cannot be written, this process keeps the change in memory.
    ///
    /// - Parameters:
    ///   - flushing: whether the change must survive a power failure or a crash of the system.
    ///   - mustBeStored: whether to discard the change and throw the error if it cannot be written.
    ///   - change: a closure that is called again if another thread has changed the index in memory meanwhile. If it
    ///     throws, nothing changes.
    ///   - then: a closure that is called under the same lock after the index was written.
    /// - Returns: the result of `change`, and the error if the change could not be written.
    package func update<Value>(
        waiting: Waiting, flushing: Bool = true, mustBeStored: Bool = false,
        _ change: (inout StorageIndex) throws -> Value,
        then: (StorageIndex) -> Void = { _ in }
    ) throws -> (value: Value, problem: (any Error)?) {
        let step = 2
        for wait in 0...(waiting.milliseconds / step) {
            if wait > 0 { FileStore.pause(microseconds: UInt32(step) * 1000) }
            if let done = try tryUpdate(flushing, mustBeStored, change, then) { return done }
        }
        return try changeInMemory(busy(waiting), mustBeStored, change)
    }

    /// Changes the index without blocking the thread. See the blocking method of the same name.
    package func update<Value>(
        flushing: Bool = true, mustBeStored: Bool = false, _ change: (inout StorageIndex) throws -> Value,
        then: (StorageIndex) -> Void = { _ in }
    ) async throws -> (value: Value, problem: (any Error)?) {
        let step = 20
        for wait in 0...(Waiting.long.milliseconds / step) {
            // Wait in real time, regardless of the configured clock, because other processes hold the lock in real
            // time.
            if wait > 0 { try await WorkThreads.sleep(for: .milliseconds(step)) }
            if let done = try tryUpdate(flushing, mustBeStored, change, then) { return done }
        }
        return try changeInMemory(busy(.long), mustBeStored, change)
    }

    private func busy(_ waiting: Waiting) -> RemoteSettingsError {
        let time = waiting.milliseconds
        return .storage(
            reason: "\(path): another process is writing to the storage directory (waited "
                + (time < 1000 ? "\(time) ms" : "\(time / 1000) s") + "); try again later")
    }

    /// Changes the index if the lock is available.
    ///
    /// - Returns: `nil` if another process holds the lock.
    private func tryUpdate<Value>(
        _ flushing: Bool, _ mustBeStored: Bool, _ change: (inout StorageIndex) throws -> Value,
        _ then: (StorageIndex) -> Void
    ) throws -> (value: Value, problem: (any Error)?)? {
        guard !isReadOnly else { return try changeInMemory(nil, mustBeStored, change) }
        let lock: DirectoryLock
        do {
            try prepare()
            guard let free = try DirectoryLock(path) else { return nil }
            lock = free
            try beginWriting()
        } catch let error as Failure where error.code == .unknownVersion {
            // A later version of the library has written the index. Leave it unchanged, and keep the change in memory.
            return try changeInMemory(nil, mustBeStored, change)
        } catch {
            return try changeInMemory(error, mustBeStored, change)
        }
        defer { withExtendedLifetime(lock) {} }
        let (new, value): (StorageIndex, Value)
        do {
            (new, value) = try apply(change, isWriting: true)
        } catch {
            state.withLock { $0.before = nil }
            throw error
        }
        do {
            then(try save(new, flushing: flushing))
            return (value, nil)
        } catch {
            state.withLock { state in
                if mustBeStored, let before = state.before {
                    (state.known, state.version) = (before, state.version &+ 1)
                }
                state.before = nil
            }
            guard !mustBeStored else { throw error }
            return (value, error)
        }
    }

    /// Makes readers get the present index until ``save(_:flushing:)`` has ended. Call it under the directory's lock.
    private func beginWriting() throws {
        let identity = try FileStore.identity(indexPath)
        let index = state.withLock { $0.known == nil || $0.identity != identity } ? try read() : nil
        state.withLock { state in
            // No other process or thread has the lock, so the file has not changed since.
            if let index, state.known == nil || state.identity != identity { state.install(index, identity) }
            // A change in memory that was begun before this is made again, for both indexes.
            (state.before, state.version) = (state.known, state.version &+ 1)
        }
    }

    private func changeInMemory<Value>(
        _ problem: (any Error)?, _ mustBeStored: Bool, _ change: (inout StorageIndex) throws -> Value
    ) throws -> (value: Value, problem: (any Error)?) {
        if mustBeStored, let problem { throw problem }
        return (try apply(change, isWriting: false).value, problem)
    }

    /// Changes the index in memory.
    ///
    /// - Parameter isWriting: whether the caller writes the index now. Readers get the change when it is written;
    ///   otherwise they get it at once, even while another thread writes.
    private func apply<Value>(
        _ change: (inout StorageIndex) throws -> Value, isWriting: Bool
    ) rethrows -> (new: StorageIndex, value: Value) {
        while true {
            let read = readState().0
            var (new, before) = (read.known ?? StorageIndex(), read.before)
            if !isWriting, var readable = before {
                _ = try change(&readable)
                before = readable
            }
            let value = try change(&new)
            let isDone = state.withLock { state in
                guard state.version == read.version else { return false }
                (state.known, state.version) = (new, read.version &+ 1)
                if state.before != nil { state.before = before }
                return true
            }
            if isDone { return (new, value) }
        }
    }

    /// Writes the states that the index lists but that are not in the directory yet, then the index, if its file has
    /// other content.
    ///
    /// - Returns: the index with the changes that other threads have made in memory meanwhile.
    private func save(_ new: StorageIndex, flushing: Bool) throws(Failure) -> StorageIndex {
        let (written, identity) = state.withLock { ($0.written, $0.identity) }
        let states = new.states
        for file in new.unsaved.files.filter(states.contains).sorted(by: { $0.hex < $1.hex }) {
            guard let content = new.unsaved[file] else { continue }
            try FileStore.replace(statePath(file), below: path, with: content, limit: Self.mostStateBytes)
        }
        let isLost = try FileStore.identity(indexPath) == nil
        var problem: Failure?
        if new != written || isLost {
            do throws(Failure) {
                // A directory in the index's place would stop every change. One with files may be the app's.
                if try FileStore.isDirectory(indexPath) { try FileStore.removeIfEmpty(indexPath) }
                try FileStore.replace(
                    indexPath, below: path, with: try new.content(), limit: StorageIndex.mostBytes,
                    flushing: flushing || new.mustSurvive)
            } catch {
                // If only the flush of the rename failed, the index is in effect.
                guard try FileStore.identity(indexPath) != identity else { throw error }
                problem = error
            }
        }
        let index = finishWriting(new)
        if let problem { throw problem }
        if states != written?.states || !new.unsaved.files.isEmpty { removeUnlistedStates() }
        return index
    }

    private func finishWriting(_ new: StorageIndex) -> StorageIndex {
        let identity = try? FileStore.identity(indexPath)
        return state.withLock { state in
            var (known, written) = (state.known ?? new, new)
            written.unsaved = .init()
            let missing = known.states.subtracting(written.states)
            known.unsaved = known.unsaved.filtered(missing.contains)
            state.install(known, identity)
            (state.written, state.before) = (written, nil)
            return known
        }
    }

    /// Removes the states that killed processes have left behind.
    func removeAbandonedStates() {
        guard !isReadOnly, let names = try? FileStore.list(statesPath, isLossy: true),
            names.count(where: { Self.hash(inName: $0) != nil }) != index().states.count
        else { return }
        _ = try? update(waiting: .no, flushing: false) { _ in
        } then: { _ in
            removeUnlistedStates()
        }
    }

    /// Removes the states that neither the file of the index nor this process refers to. A reader that was about to
    /// open one reads the index again. Call it under the directory's lock.
    private func removeUnlistedStates() {
        let states = state.withLock { state in
            (state.known?.states ?? []).union(state.written?.states ?? [])
        }
        for name in (try? FileStore.list(statesPath, isLossy: true)) ?? [] {
            guard let hash = Self.hash(inName: name), name != hash.hex || !states.contains(hash) else { continue }
            // A file that cannot be removed uses disk space, but does no other harm.
            try? FileStore.remove("\(statesPath)/\(name)", below: path)
        }
    }

    // MARK: - States
    /// Adds a state to an index that is being changed.
    func add(_ file: CacheFile, to index: inout StorageIndex) -> StoredState {
        let content = file.bytes
        let stored = StoredState(file, content: content, digest: SHA256Digest(hashing: content))
        index.unsaved[stored.file] = content
        return stored
    }

    private func unsaved(_ stored: StoredState) -> Bytes? {
        state.withLock { $0.known?.unsaved[stored.file] ?? $0.before?.unsaved[stored.file] }
    }

    /// Reads a state into private memory, so that no process can change it after it was verified.
    ///
    /// - Returns: `nil` if its file does not exist.
    func file(of stored: StoredState, _ id: CollectionID) throws -> CacheFile? {
        let path = statePath(stored.file)
        let content = try unsaved(stored) ?? FileStore.read(path, limit: Self.mostStateBytes)
        guard let content else { return nil }
        let file = try CacheFile(parsing: content, of: id, path: path)
        // If the state is unsigned, only this hash shows whether the file is intact.
        guard file.chain != nil || SHA256Digest(hashing: content) == stored.file else {
            throw Failure.cacheFile(path, "its SHA-256 does not match its name")
        }
        return file
    }

    /// Returns whether a state's file exists with the right size. Its content may be damaged.
    func has(_ stored: StoredState) -> Bool {
        unsaved(stored) != nil || (try? FileStore.size(statePath(stored.file))) == stored.size
    }

    /// Whether a state exists only in memory, because it could not be written.
    var hasUnsaved: Bool { state.withLock { $0.known?.unsaved.files.isEmpty == false } }

    /// Returns whether a state's file exists and is intact. Reads all of it.
    func isWhole(_ stored: StoredState) -> Bool {
        if unsaved(stored) != nil { return true }
        return has(stored) && (try? FileStore.digest(of: statePath(stored.file))) == stored.file
    }
}

extension StoredState {
    init(_ file: CacheFile, content: Bytes, digest: SHA256Digest) {
        let chain = file.chain.flatMap { KeptChains(text: $0).chains.first }
        self.init(
            file: digest, size: content.count,
            state: .init(timestamp: file.timestamp, payload: SHA256Digest(hashing: file.payload)),
            server: file.server,
            root: chain.flatMap { try? CertificateChain(pem: $0).root })
    }
}

// MARK: - The directory

extension StorageDirectory {
    /// Creates the directory if it does not exist. Every writer calls this first.
    ///
    /// On Apple systems, the directory is excluded from device backups, because its content can be fetched again. It is
    /// readable after the device's first unlock.
    func prepare() throws(Failure) {
        guard !isReadOnly else { throw Failure("write below", path, errno: Failure.readOnly) }
        // A temporary directory is created in `init` and deleted with the service, so it must not be created again.
        guard temporary == nil else { return }
        let isThere = try FileStore.isDirectory(path)
        if !isThere { try FileStore.makeDirectories(path) }
        #if canImport(Darwin)
        if Self.attributed.withLock({ $0.insert(path).inserted }) || !isThere { setAttributes() }
        #endif
    }

    #if canImport(Darwin)
    /// The paths whose attributes this process has set. They are set once for each path, even if the app has created
    /// the directory itself.
    private static let attributed = Mutex<Set<String>>([])

    /// Sets the attributes of the directory. Errors are ignored, because the file system may not support them and
    /// nothing depends on them.
    private func setAttributes() {
        var url = URL(fileURLWithPath: path, isDirectory: true)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try? url.setResourceValues(values)
        // Files created in the directory inherit this protection class. An app may use a stricter one for all its
        // files, but then a background refresh could not read anything while the device is locked.
        try? FileManager.default.setAttributes(
            [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: path)
    }
    #endif

    /// The age in seconds after which temporary files, left by interrupted downloads, are removed.
    private static let leftoverSeconds: Int64 = 86_400

    /// Returns whether another process may still be writing a temporary file.
    func mayBeWritten(_ path: String, now: Timestamp) throws(Failure) -> Bool {
        guard let changed = try FileStore.identity(path)?.seconds else { return false }
        return changed > Int64(clamping: now.seconds).saturatingAdding(-Self.leftoverSeconds)
    }

    // MARK: - The library's own files
    /// The names at the top of the directory.
    private static let ownNames: Set<String> = ["index.json", "index.json.tmp", "states", "attachments", "chains"]

    /// Returns the hash at the beginning of the name of a state, an attachment, a chain, or one of their temporary
    /// files; `nil` for the name of any other file.
    ///
    /// The app may have files of its own in the directory. Only files with such names are ever removed.
    static func hash(inName name: String) -> SHA256Digest? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        // The random number is that of `FileStore.uniquePath(_:)`.
        let endings: Set<Substring> = ["pem", "part", "tmp"]
        guard let first = parts.first,
            parts.dropFirst().allSatisfy({ endings.contains($0) || $0.utf8.count == 16 && UInt64($0, radix: 16) != nil }
            )
        else { return nil }
        return SHA256Digest(hex: String(first))
    }

    /// Removes the library's files from a directory and its subdirectories, and the directories that are then empty.
    ///
    /// - Parameter levels: the number of levels of subdirectories that the library creates in the directory.
    func removeOwnFiles(in directory: String, levels: Int) throws(Failure) {
        guard try FileStore.isDirectory(directory) else { return }
        for name in try FileStore.list(directory, isLossy: true) ?? [] {
            let path = "\(directory)/\(name)"
            if levels > 0 {
                try removeOwnFiles(in: path, levels: levels - 1)
            } else if Self.hash(inName: name) != nil {
                try FileStore.remove(path, below: self.path)
            }
        }
        try FileStore.removeIfEmpty(directory)
    }

    /// Returns a file or folder in the directory that the library did not write; `nil` if there is none.
    func foreignFile() -> String? {
        func first(in folder: String, _ isOwn: (String) -> Bool) -> String? {
            (try? FileStore.list("\(path)/\(folder)", isLossy: true))?.first { !isOwn($0) }.map { folder + $0 }
        }
        return first(in: "", Self.ownNames.contains) ?? first(in: "states/") { Self.hash(inName: $0) != nil }
            ?? first(in: "chains/") { Self.hash(inName: $0) != nil }
    }
}

/// The certificate chains in the storage directory, by their URL. They are verified each time they are used.
struct ChainDirectory: ChainStore.Keeper {
    let storage: StorageDirectory

    func chain(x5u: String) -> Bytes? {
        try? FileStore.read(storage.chainPath(x5u: x5u), limit: Limits.chainBytes)
    }

    func keep(_ pem: Bytes, x5u: String) {
        guard !storage.isReadOnly else { return }
        // A chain that cannot be stored is fetched again next time.
        try? storage.prepare()
        let path = storage.chainPath(x5u: x5u)
        try? FileStore.replace(path, below: storage.path, with: pem, limit: Limits.chainBytes, isContended: true)
        try? removeOldest(except: path)
    }

    /// Removes the oldest files beyond ``Limits/keptChains``, including those left by killed processes.
    private func removeOldest(except new: String) throws(Failure) {
        let directory = storage.chainsPath
        guard try FileStore.isDirectory(directory), let names = try FileStore.list(directory, isLossy: true),
            case let own = names.filter({ StorageDirectory.hash(inName: $0) != nil }), own.count > Limits.keptChains
        else { return }
        let others = own.map { "\(directory)/\($0)" }.filter { $0 != new }
            .map { (path: $0, changed: (try? FileStore.identity($0))?.seconds ?? .min) }
            .sorted { $0.changed > $1.changed }
        for other in others.dropFirst(max(0, Limits.keptChains - 1)) {
            try FileStore.remove(other.path, below: storage.path)
        }
    }
}

extension Failure {
    /// Whether a file that may be intact could not be read.
    fileprivate var isOfUnreadFile: Bool { code == .storage && !isTooLarge && !isWrongKind }
}
