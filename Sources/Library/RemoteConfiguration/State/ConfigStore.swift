import RemoteSettings
import RemoteSettingsModel

/// A store for the ``ConfigState`` of one collection, which is kept in the index.
///
/// Anyone who can write to the storage directory can change it, so every number in it is clamped where it is used. A
/// change that cannot be written is effective in this process only.
final class ConfigStore: Sendable {
    /// The installation's id from the app, or a random one that is not stored yet; `nil` until it is needed.
    private let installation: Mutex<String?>
    private let isGiven: Bool

    /// Creates a store.
    ///
    /// - Parameter installation: the installation's id from the app; `nil` for a random one.
    init(installation: String?) {
        self.installation = Mutex(installation)
        isGiven = installation != nil
    }

    /// Returns the current state. Does I/O.
    func present(_ collection: LocalCollection) -> ConfigState {
        state(in: collection.session.storage.index(), collection)
    }

    func state(in index: StorageIndex, _ collection: LocalCollection) -> ConfigState {
        index.configs[collection.configKey].flatMap { ConfigState($0) }
            ?? ConfigState(installation: newInstallation(collection))
    }

    private func newInstallation(_ collection: LocalCollection) -> String {
        installation.withLock { installation in
            if let installation { return installation }
            let random = collection.session.config.environment.random
            let digits = Array("0123456789abcdef")
            let id = String((0..<32).map { _ in digits[Int(min(max(random(), 0), 0.999) * 16)] })
            installation = id
            return id
        }
    }

    /// Returns the state when the app starts, with an installation id that will be the same at the next start.
    ///
    /// - Parameter isNeeded: whether a value may depend on the id, which must then be stored at once.
    func starting(_ collection: LocalCollection, isNeeded: Bool) -> ConfigState {
        let index = collection.session.storage.index()
        let present = state(in: index, collection)
        guard isNeeded, !isGiven, index.configs[collection.configKey] == nil else { return present }
        // Another process may be starting for the first time too, and both must use the same id. No flush is needed,
        // because an id lost in a power failure can be replaced by a new one.
        let stored = try? collection.session.storage.update(waiting: .briefly, flushing: false) { index in
            change(&index, collection) { $0 }
        }
        return stored?.value ?? present
    }

    /// Changes the state. A change that cannot be written is effective in this process only.
    @discardableResult
    func update<Value>(_ collection: LocalCollection, _ change: (inout ConfigState) -> Value) async -> Value {
        do {
            let (value, problem) = try await collection.session.storage.update { self.change(&$0, collection, change) }
            if let problem { collection.session.reportStorage(problem) }
            return value
        } catch {
            // The task was cancelled while another process was writing, so the change is discarded.
            var state = present(collection)
            return change(&state)
        }
    }

    /// Changes the state, and blocks the thread while another process writes. See ``update(_:_:)``.
    ///
    /// - Throws: an error if the change cannot be written. It is still effective in this process.
    func updateBlocking(_ collection: LocalCollection, _ change: (inout ConfigState) -> Void) throws {
        let (_, problem) = try collection.session.storage.update(waiting: .long) {
            self.change(&$0, collection, change)
        }
        if let problem { throw problem }
    }

    /// Changes the state in the index.
    func change<Value>(
        _ index: inout StorageIndex, _ collection: LocalCollection, _ change: (inout ConfigState) throws -> Value
    ) rethrows -> Value {
        var state = state(in: index, collection)
        defer { index.configs[collection.configKey] = state.json }
        return try change(&state)
    }
}
