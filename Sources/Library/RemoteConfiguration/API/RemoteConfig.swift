import Observation
import RemoteSettings
import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The remote config of an app: parameters that the app fetches, activates and reads by key, with in-app defaults.
///
/// The parameters are in a signed collection, which may be packaged with the app.
///
///     RemoteConfig.configure(collection: "app-config", service: service)
///     let config = RemoteConfig.remoteConfig()
///     config.setDefaults(["banner": "Welcome", "price": 3])
///     config["banner"].stringValue  // packaged with the app, or the default
///     try await config.fetchAndActivate()  // contacts the server if a fetch is due
///
/// A value comes from the newest activated or packaged state, or else from the app's defaults. If neither has the key,
/// it is empty. Fetched values take effect when you call ``activate()``. Reading never uses the network and never
/// fails. The first read in a process does I/O, because it reads and verifies the stored or packaged state. Later reads
/// do not wait for I/O. Instances can be used from any thread.
///
/// The class is `Observable`, on Apple systems since iOS 17 and macOS 14. A SwiftUI view that reads a value is updated
/// when an activation changes values. `withObservationTracking` works on every system. On older Apple systems, use
/// `addObserver` with a queue.
public final class RemoteConfig: RemoteConfigReading, Sendable {
    struct State {
        /// The layers that values are read from; `nil` before the first read.
        var layers: ConfigLayers?
        var defaults: [ExactString: RemoteConfigValue] = [:]
        /// The values that the app's code overrides during development.
        var overrides: [ExactString: RemoteConfigValue] = [:]
        /// The reasons that snapshots were not used at the start; empty after an activation.
        var problems: [String] = []
        /// Whether a fetch is running. It records its own result, so `recordSync` ignores its sync.
        var isFetching = false
        /// The last fetched state that listeners have been notified of.
        var announced: Payload?
        var announcer: Task<Void, Never>?
        var validate: (@Sendable (RemoteConfigSnapshot, RemoteConfigSnapshot) throws -> Void)?

        /// Replaces the parameters. They take precedence over the defaults, but not over the overrides.
        @discardableResult
        mutating func show(_ parameters: ParameterLayer?, _ reads: ReadLog?, _ packaged: PackagedLayer?) -> ConfigLayers
        {
            let shown = ConfigLayers(
                parameters: parameters, defaults: defaults, fixed: overrides, reads: reads, packaged: packaged)
            layers = shown
            return shown
        }
    }

    private static let shared = Mutex<RemoteConfig?>(nil)

    /// The name of the collection that contains the parameters.
    public let collectionName: String
    /// When fetched values take effect.
    public let activation: RemoteConfigActivation
    let client: RemoteSettingsClient
    let givenInstallation: String?
    let state = Mutex(State())
    let store: ConfigStore
    let hub = ObserverHub()
    let fetches = SharedWork<RemoteConfigFetchKey, RemoteConfigFetchOutcome, Never>()
    private let settings: Mutex<RemoteConfigSettings>
    private let observed = ObservedState()

    /// Creates a separate remote config, which ``remoteConfig()`` does not return. Does no I/O.
    ///
    /// - Parameters:
    ///   - collection: the collection's name in the bucket of the service's configuration, or `bucket/name`. The
    ///     collection must contain only parameters.
    ///   - service: the service that syncs, verifies and stores the collection. Its other collections are not affected.
    ///   - settings: the fetch interval and the time limit of a fetch.
    ///   - activation: when fetched values take effect.
    ///   - installationID: the value of `env.id`, by which percentage rollouts select installations; `nil` for a random
    ///     id that is kept in the storage directory. With a user's id, all of the user's devices are selected together.
    public init(
        collection: String, service: RemoteSettingsService, settings: RemoteConfigSettings = RemoteConfigSettings(),
        activation: RemoteConfigActivation = .onRequest, installationID: String? = nil
    ) {
        collectionName = collection
        client = service.makeClient(collectionName: collection)
        self.settings = Mutex(settings)
        self.activation = activation
        givenInstallation = installationID
        store = ConfigStore(installation: installationID)
        // Records syncs that were not started by ``fetch()``.
        client.onSync { [weak self] began in await self?.recordSync(began: began) }
    }

    deinit {
        state.withLock { $0.announcer }?.cancel()
        hub.finish()
    }

    /// Creates the remote config that ``remoteConfig()`` returns. Call it once, when the app starts. Does no I/O.
    ///
    /// For the parameters, see ``init(collection:service:settings:activation:installationID:)``. If this is called
    /// again, ``remoteConfig()`` returns the new remote config from then on. Earlier ones continue to work.
    @discardableResult
    public static func configure(
        collection: String, service: RemoteSettingsService, settings: RemoteConfigSettings = RemoteConfigSettings(),
        activation: RemoteConfigActivation = .onRequest, installationID: String? = nil
    ) -> RemoteConfig {
        let config = RemoteConfig(
            collection: collection, service: service, settings: settings, activation: activation,
            installationID: installationID)
        shared.withLock { $0 = config }
        return config
    }

    /// The app's remote config; `nil` before it is configured, as in a preview. That is logged once.
    static var configured: RemoteConfig? {
        let config = shared.withLock { $0 }
        if config == nil { _ = warning }
        return config
    }

    private static let warning: Void = ServiceLog(nil).warning(
        "a RemoteConfigProperty was read before RemoteConfig.configure(collection:service:); it has its fallback")

    /// Returns the app's remote config. If ``configure(collection:service:settings:activation:installationID:)`` was
    /// not called before, the program stops.
    public static func remoteConfig() -> RemoteConfig {
        guard let config = shared.withLock({ $0 }) else {
            preconditionFailure(
                "RemoteConfig.remoteConfig() was called before RemoteConfig.configure(collection:service:); call configure "
                    + "when the app starts")
        }
        return config
    }

    /// The fetch interval and the time limit of a fetch. A change takes effect at the next fetch.
    public var configSettings: RemoteConfigSettings {
        get { settings.withLock { $0 } }
        set { settings.withLock { $0 = newValue } }
    }

    /// Returns the value of a key, from the active remote or packaged state, or else from the app's defaults. If
    /// neither has one, the value is empty.
    public subscript(key: String) -> RemoteConfigValue { layers().value(key) }

    /// Returns the value of a key, from the active remote or packaged state, or else from the app's defaults. If
    /// neither has one, the value is empty.
    ///
    /// - Parameter key: the key. As in Firebase, it may be `nil`; the value is then empty.
    public func configValue(forKey key: String?) -> RemoteConfigValue { key.map(layers().value) ?? .none }

    /// Returns a snapshot of the current values, which all belong to one state.
    public func snapshot() -> RemoteConfigSnapshot { RemoteConfigSnapshot(layers: layers()) }

    /// Reads and verifies the stored or packaged state in advance, so that the first read of a value does no I/O.
    public func ensureInitialized() async throws(RemoteConfigError) { _ = layers() }

    func layers() -> ConfigLayers {
        observed.willRead()
        if let layers = state.withLock({ $0.layers }) { return layers }
        return load()
    }

    /// Loads the layers for the first read. Two threads may do this at the same time; the first result is kept.
    private func load() -> ConfigLayers {
        let (layer, problems) = startingLayer()
        return state.withLock { state in
            if let layers = state.layers { return layers }
            state.problems = problems
            return state.show(layer, ReadLog(hub), packagedLayer())
        }
    }

    /// Replaces the layers that values are read from, and notifies observers.
    func replaceLayers(_ change: (inout State) -> Void) {
        observed.change { state.withLock { change(&$0) } }
    }
}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
extension RemoteConfig: Observable {}
