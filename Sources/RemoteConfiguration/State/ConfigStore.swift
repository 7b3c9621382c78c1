import FileStorage
import RemoteSettings
import RemoteSettingsModel
import Locks

/// What of one collection has to survive a start: what fetches, pauses and messages have left behind, and the active
/// snapshot.
///
/// It alone reads and writes the file of it. A file that is damaged counts as none, and the next change writes it anew;
/// one that cannot be read at the moment stays as it is. If a change cannot be written, this process goes on with it,
/// and the next change that can be written takes it along.
///
/// Whoever can write to the storage directory can write the file. So the snapshot is verified before anything depends
/// on it, its timestamp included, and every number of the state has a bound where it is used.
final class ConfigStore: Sendable {
    private struct Memory {
        /// What was last read from the file, or written to it.
        var state: ConfigState?
        /// Whether `state` could not be written, so that the file is older.
        var isAheadOfFile = false
    }

    private let givenInstallation: String?
    private let memory = Mutex(Memory())

    /// - Parameter installation: the installation's name that the app gives; `nil` for a random one.
    init(installation: String?) { givenInstallation = installation }

    /// What is kept, as far as this process knows. No I/O.
    var known: ConfigState? { memory.withLock { $0.state } }

    /// What is kept: the state of the file, or of this process if that is newer, or if no file can be read. Does I/O.
    func present(_ access: CollectionAccess) -> ConfigState {
        adopt((try? Self.read(access)) ?? nil, access).state
    }

    private static func read(_ access: CollectionAccess) throws(FileError) -> ConfigStateFile? {
        try ConfigStateFile.read(access.keptPath, limits: access.limits)
    }

    private func adopt(_ read: ConfigStateFile?, _ access: CollectionAccess) -> ConfigStateFile {
        var file = read ?? ConfigStateFile(state: current(access), snapshot: nil)
        memory.withLock { memory in
            if memory.isAheadOfFile, let state = memory.state { file.state = state }
            memory.state = file.state
        }
        return file
    }

    /// What this process knows; a new state if that is nothing.
    private func current(_ access: CollectionAccess) -> ConfigState {
        memory.withLock { memory in
            if let known = memory.state { return known }
            let random = access.environment.random
            let digits = Array("0123456789abcdef")
            let id = String((0..<32).map { _ in digits[Int(min(max(random(), 0), 0.999) * 16)] })
            let new = ConfigState(installation: givenInstallation ?? id)
            memory.state = new
            return new
        }
    }
}

// MARK: - A start

extension ConfigStore {
    /// The file as a start finds it.
    struct Start {
        fileprivate let file: ConfigStateFile?
        /// Why the file cannot be read.
        let problem: FileError?

        /// The newest of what was activated and what is packaged, verified as a cache is.
        func newest(
            _ access: CollectionAccess, usesPackaged: Bool = true, unused: inout [SnapshotStatus.Unused]
        ) -> CollectionAccess.Found? {
            access.newest(kept: file?.snapshot, usesPackaged: usesPackaged, unused: &unused)
        }
    }

    /// Reads the file.
    func start(_ access: CollectionAccess) -> Start {
        do throws(FileError) {
            return Start(file: try Self.read(access), problem: nil)
        } catch {
            return Start(file: nil, problem: error)
        }
    }

    /// What a start has found, with an id of this installation that is the same at the next start.
    ///
    /// - Parameter isNeeded: whether a value may depend on the id, so that it has to be stored at once.
    func state(of start: Start, _ access: CollectionAccess, isNeeded: Bool) -> ConfigState {
        if let known = known ?? start.file?.state {
            memory.withLock { if $0.state == nil { $0.state = known } }
            return known
        }
        guard isNeeded, givenInstallation == nil else { return current(access) }
        // Another process may be starting for the first time as well: both have to end up with one id. Nothing is lost
        // if the machine fails before it is on the disk.
        let stored = try? access.withStorageLockBlocking(tries: 100) { () -> ConfigState in
            if let file = try Self.read(access) { return file.state }
            let file = ConfigStateFile(state: current(access), snapshot: nil)
            try file.write(to: access.keptPath, flushing: false)
            return file.state
        }
        guard let stored else { return current(access) }
        memory.withLock { $0.state = stored }
        return stored
    }
}

// MARK: - Changes

extension ConfigStore {
    /// The file while nobody else writes it.
    struct Writing {
        private let store: ConfigStore
        private let access: CollectionAccess
        private var file: ConfigStateFile
        /// Whether the file has to be written though nothing in it changes: there is none, it is damaged, or it is
        /// older than what this process knows.
        private var isOutdated: Bool

        fileprivate init(_ store: ConfigStore, _ access: CollectionAccess) throws(FileError) {
            let read = try ConfigStore.read(access)
            self.store = store
            self.access = access
            file = store.adopt(read, access)
            isOutdated = read?.state != file.state
        }

        var state: ConfigState { file.state }

        /// Whether a snapshot is the active one of the file.
        func holds(_ snapshot: Snapshot) -> Bool { file.snapshot == access.content(of: snapshot) }

        /// The active snapshot of the file, verified; `nil` if there is none to be trusted.
        func active() -> CollectionAccess.Found? {
            guard let content = file.snapshot else { return nil }
            var unused: [SnapshotStatus.Unused] = []
            return access.newest(kept: content, usesPackaged: false, unused: &unused)
        }

        /// Replaces the file, if anything has changed.
        ///
        /// - Parameter activated: the snapshot that is active from now on; `nil` leaves what there is.
        /// - Returns: what `change` returns.
        /// - Throws: `FileError` if the file cannot be written; then nothing has changed.
        @discardableResult
        mutating func keep<Value>(
            activated: Snapshot? = nil, _ change: (inout ConfigState) -> Value
        ) throws(FileError) -> Value {
            var new = file
            let value = change(&new.state)
            if let activated { new.snapshot = access.content(of: activated) }
            guard isOutdated || activated != nil || new.state != file.state else { return value }
            try new.write(to: access.keptPath)
            (file, isOutdated) = (new, false)
            // A file of a later format was left as it is.
            store.memory.withLock { $0 = Memory(state: new.state, isAheadOfFile: new.isOfLaterFormat) }
            return value
        }
    }

    /// Runs `body` under the storage lock.
    ///
    /// - Throws: `FileError` if the file cannot be read at the moment: then it is not replaced either; what the storage
    ///   lock throws; or what `body` throws.
    func writing<Value>(
        _ access: CollectionAccess, _ body: (inout Writing) throws -> Value
    ) async throws -> Value {
        try await access.withStorageLock {
            var writing = try Writing(self, access)
            return try body(&writing)
        }
    }

    /// Changes the state. If that cannot be written, this process goes on with it.
    ///
    /// - Parameter change: called again if the first change could not be written.
    @discardableResult
    func note<Value>(_ access: CollectionAccess, _ change: (inout ConfigState) -> Value) async -> Value {
        do {
            return try await writing(access) { try $0.keep(change) }
        } catch {
            return remember(access, change)
        }
    }

    /// Like ``note(_:_:)``, but blocks the thread when another process is writing.
    ///
    /// - Throws: if the change cannot be written; this process goes on with it all the same.
    func noteBlocking(_ access: CollectionAccess, _ change: (inout ConfigState) -> Void) throws {
        do {
            try access.withStorageLockBlocking {
                var writing = try Writing(self, access)
                try writing.keep(change)
            }
        } catch {
            remember(access, change)
            throw error
        }
    }

    @discardableResult
    private func remember<Value>(_ access: CollectionAccess, _ change: (inout ConfigState) -> Value) -> Value {
        var isReadable = true
        do throws(FileError) {
            _ = try Self.read(access)
        } catch {
            // It counts again as soon as it can be read.
            isReadable = false
        }
        var state = current(access)
        return memory.withLock { memory in
            state = memory.state ?? state
            let value = change(&state)
            memory = Memory(state: state, isAheadOfFile: memory.isAheadOfFile || isReadable)
            return value
        }
    }
}
