import RemoteSettingsModel
import Synchronization

/// What a service and its clients share.
final class ServiceCore: Sendable {
    private struct State {
        var session: Session
        var names: Set<String> = []
        var isShutDown = false
    }

    let storage: StorageDirectory
    let events = ChangeHub()
    private let state: Mutex<State>

    init(storage: StorageDirectory, config: RemoteSettingsConfig) {
        self.storage = storage
        state = Mutex(State(session: Session(config, storage: storage, events: events)))
    }

    /// The configuration in force.
    var session: Session { state.withLock { $0.session } }

    func addClient(_ name: String) {
        state.withLock { _ = $0.names.insert(name) }
    }

    /// The collections that clients were made for, as far as their names are valid.
    func collectionsWithClients(_ session: Session) -> [CollectionID] {
        state.withLock { $0.names }.compactMap { try? session.collectionID($0) }.sorted()
    }

    func update(_ config: RemoteSettingsConfig) throws(RemoteSettingsError) {
        let session = Session(config, storage: storage, events: events)
        _ = try session.server.get()
        _ = try session.collectionID("x")
        replace(session)
    }

    func setTelemetry(_ telemetry: any RemoteSettingsTelemetry) {
        session.telemetry = telemetry
    }

    private func replace(_ session: Session) {
        let (old, isShutDown) = state.withLock { state in
            let old = state.session
            state.session = session
            return (old, state.isShutDown)
        }
        old.close()
        if isShutDown { session.close() }
    }

    func shutdown() {
        let session = state.withLock { state in
            state.isShutDown = true
            return state.session
        }
        session.close()
        events.finish()
    }
}

extension Session {
    var bucketName: String { config.bucketName ?? "main" }

    /// - Parameter name: a collection's name, or `bucket/name`.
    func collectionID(_ name: String) throws(RemoteSettingsError) -> CollectionID {
        do throws(InvalidIdentifier) {
            let isQualified = name.utf8.contains(UInt8(ascii: "/"))
            return isQualified ? try CollectionID(name) : try CollectionID(bucket: bucketName, name: name)
        } catch {
            throw .Other(reason: "\(error)")
        }
    }
}
