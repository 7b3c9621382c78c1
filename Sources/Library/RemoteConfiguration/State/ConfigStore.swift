import RemoteSettings
import RemoteSettingsModel

/// The ``ConfigState`` of one collection in the index, which must survive a restart.
///
/// Anyone who can write to the storage directory can write it, so every number in it is limited where it is used. A
/// change that cannot be written holds for this process.
final class ConfigStore: Sendable {
    /// The installation's id from the app, or a random one that is not stored yet.
    private let installation: Mutex<String?>
    private let isGiven: Bool

    /// Makes a store.
    ///
    /// - Parameter installation: the installation's id from the app; `nil` for a random one.
    init(installation: String?) {
        self.installation = Mutex(installation)
        isGiven = installation != nil
    }

    /// The current state. Does I/O.
    func present(_ access: CollectionAccess) -> ConfigState { state(in: access.entry, access) }

    func state(in entry: StorageIndex.Collection, _ access: CollectionAccess) -> ConfigState {
        entry.config.flatMap { ConfigState($0) } ?? ConfigState(installation: newInstallation(access))
    }

    private func newInstallation(_ access: CollectionAccess) -> String {
        installation.withLock { installation in
            if let installation { return installation }
            let random = access.environment.random
            let digits = Array("0123456789abcdef")
            let id = String((0..<32).map { _ in digits[Int(min(max(random(), 0), 0.999) * 16)] })
            installation = id
            return id
        }
    }

    /// The state at a start, with an installation id that will be the same at the next start.
    ///
    /// - Parameter isNeeded: whether a value may depend on the id, which must then be stored at once.
    func starting(_ access: CollectionAccess, isNeeded: Bool) -> ConfigState {
        let present = present(access)
        guard isNeeded, !isGiven, access.entry.config == nil else { return present }
        // Another process may be starting for the first time too, and both must use the same id. Nothing is lost if the
        // machine fails before the id is on the disk.
        let stored = try? access.updateBlocking(isBrief: true) { entry in
            let state = state(in: entry, access)
            entry.config = state.json
            return state
        }
        return stored?.value ?? present
    }

    /// Changes the state. What cannot be written holds for this process.
    @discardableResult
    func update<Value>(_ access: CollectionAccess, _ change: (inout ConfigState) -> Value) async -> Value {
        do {
            let (value, problem) = try await access.update { self.change(&$0, access, change) }
            if let problem { access.reportStorage(problem) }
            return value
        } catch {
            // The task was cancelled while another process was writing.
            var state = present(access)
            return change(&state)
        }
    }

    /// Changes the state as ``update(_:_:)`` does, but blocks the thread while another process writes.
    ///
    /// - Throws: an error if the change cannot be written. This process keeps it anyway.
    func updateBlocking(_ access: CollectionAccess, _ change: (inout ConfigState) -> Void) throws {
        let (_, problem) = try access.updateBlocking { self.change(&$0, access, change) }
        if let problem { throw problem }
    }

    /// Changes the state in a collection's entry.
    func change<Value>(
        _ entry: inout StorageIndex.Collection, _ access: CollectionAccess,
        _ change: (inout ConfigState) throws -> Value
    ) rethrows -> Value {
        var state = state(in: entry, access)
        defer { entry.config = state.json }
        return try change(&state)
    }
}
