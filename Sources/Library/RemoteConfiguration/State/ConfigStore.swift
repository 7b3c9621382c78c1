import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

/// The state of one collection that must survive a restart.
///
/// It contains the results of fetches, pauses and messages, and the active snapshot. No other type reads or writes its
/// file. A damaged file counts as missing, and the next change writes it anew. A file that cannot be read at the moment
/// is not changed. If a change cannot be written, this process keeps it, and the next successful write includes it.
///
/// Anyone who can write to the storage directory can write the file. The snapshot and its timestamp are therefore
/// verified before anything depends on them, and every number in the state is limited where it is used.
final class ConfigStore: Sendable {
    private struct Memory {
        /// The state that was last read from the file or written to it.
        var state: ConfigState?
        /// Whether `state` could not be written, so that the file is older.
        var isAheadOfFile = false
    }

    private let givenInstallation: String?
    private let memory = Mutex(Memory())

    /// Makes a store.
    ///
    /// - Parameter installation: the installation's id from the app; `nil` for a random one.
    init(installation: String?) { givenInstallation = installation }

    /// The state as far as this process knows it. Does no I/O.
    var known: ConfigState? { memory.withLock { $0.state } }

    /// The current state. Does I/O.
    ///
    /// It is the file's state, or that of this process if it is newer or if the file cannot be read.
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

    /// The state that this process knows, or a new one if it knows none.
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
    /// The file as it is at a start.
    struct Start {
        fileprivate let file: ConfigStateFile?
        /// Why the file could not be read; `nil` if it could.
        let problem: FileError?

        /// The newest of the activated and the packaged snapshots, verified as a cache file is.
        ///
        /// - Parameter subject: the subject whose rejected states are skipped; `nil` to skip none.
        func newest(
            _ access: CollectionAccess, _ subject: StateTrials.Subject?, usesPackaged: Bool = true,
            rejected: inout [SnapshotStatus.Rejected]
        ) -> CollectionAccess.Found? {
            access.newest(kept: file?.snapshot, subject, usesPackaged: usesPackaged, rejected: &rejected)
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

    /// The state that a start has found, with an installation id that will be the same at the next start.
    ///
    /// - Parameter isNeeded: whether a value may depend on the id, which must then be stored at once.
    func state(of start: Start, _ access: CollectionAccess, isNeeded: Bool) -> ConfigState {
        if let known = known ?? start.file?.state {
            memory.withLock { if $0.state == nil { $0.state = known } }
            return known
        }
        guard isNeeded, givenInstallation == nil else { return current(access) }
        // Another process may be starting for the first time too, and both must use the same id. Nothing is lost if the
        // machine fails before the id is on the disk.
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
    /// The file while nobody else can write it.
    struct Writing {
        private let store: ConfigStore
        private let access: CollectionAccess
        private var file: ConfigStateFile
        /// Whether the file must be written even if nothing in it changes.
        ///
        /// That is so if it does not exist, is damaged, or is older than what this process knows.
        private var isOutdated: Bool

        fileprivate init(_ store: ConfigStore, _ access: CollectionAccess) throws(FileError) {
            let read = try ConfigStore.read(access)
            self.store = store
            self.access = access
            file = store.adopt(read, access)
            isOutdated = read?.state != file.state
        }

        var state: ConfigState { file.state }

        /// Whether a snapshot is the active one in the file.
        func holds(_ snapshot: Snapshot) -> Bool { file.snapshot == access.content(of: snapshot) }

        /// The file's active snapshot, verified; `nil` if there is none that can be trusted.
        func active() -> CollectionAccess.Found? {
            guard let content = file.snapshot else { return nil }
            var rejected: [SnapshotStatus.Rejected] = []
            return access.newest(kept: content, usesPackaged: false, rejected: &rejected)
        }

        /// Stores the active snapshot, which is about to be replaced, if the app may want to go back to it.
        func keepPrevious(_ subject: StateTrials.Subject) throws(FileError) {
            if let content = file.snapshot { try access.keepPrevious(content, subject) }
        }

        /// Replaces the file if anything has changed.
        ///
        /// - Parameter activated: the snapshot that becomes active; `nil` to keep the current one.
        /// - Returns: what `change` returns.
        /// - Throws: `FileError` if the file cannot be written. Nothing has changed in that case.
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
            // A file of a later format was not changed.
            store.memory.withLock { $0 = Memory(state: new.state, isAheadOfFile: new.isOfLaterFormat) }
            return value
        }
    }

    /// Runs `body` under the storage lock.
    ///
    /// - Throws: `FileError` if the file cannot be read at the moment, in which case it is not replaced; the errors of
    ///   the storage lock; and what `body` throws.
    func writing<Value>(
        _ access: CollectionAccess, _ body: (inout Writing) throws -> Value
    ) async throws -> Value {
        try await access.withStorageLock {
            var writing = try Writing(self, access)
            return try body(&writing)
        }
    }

    /// Changes the state. If the change cannot be written, this process keeps it anyway.
    ///
    /// - Parameter change: the change. It is called again if its first result could not be written.
    @discardableResult
    func update<Value>(_ access: CollectionAccess, _ change: (inout ConfigState) -> Value) async -> Value {
        do {
            return try await writing(access) { try $0.keep(change) }
        } catch {
            return remember(access, change)
        }
    }

    /// Changes the state as ``update(_:_:)`` does, but blocks the thread while another process writes.
    ///
    /// - Throws: an error if the change cannot be written. This process keeps it anyway.
    func updateBlocking(_ access: CollectionAccess, _ change: (inout ConfigState) -> Void) throws {
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
            // The file counts again as soon as it can be read.
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
