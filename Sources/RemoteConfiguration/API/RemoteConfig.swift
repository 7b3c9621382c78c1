import Observation
import RemoteSettings
import RemoteSettingsModel
import Locks

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Remote config: parameters with defaults, fetched, activated and read by key, on a signed collection that may be
/// packaged with the app.
///
///     RemoteConfig.configure(collection: "app-config", service: service)
///     let config = RemoteConfig.remoteConfig()
///     config.setDefaults(["banner": "Welcome", "price": 3])
///     config["banner"].stringValue         // packaged with the app, or the default
///     try await config.fetchAndActivate()  // asks the server when that is due
///
/// A value is the one of the newest state that was activated or packaged; else the app's default; else empty. What is
/// fetched waits for ``activate()``. Reading never uses the network, never fails, and takes no lock under which I/O is
/// done. The first read in a process does I/O: it reads and verifies what serves. Instances may be used from many
/// threads.
///
/// It is `Observable`, on Apple systems since iOS 17 and macOS 14: a SwiftUI view, or `withObservationTracking` on any
/// system, that reads a value is told when an activation changes values. On older systems, ``addObserver(on:_:)`` with
/// a queue tells.
public final class RemoteConfig: RemoteConfigReading, Sendable {
    struct State {
        /// What values are read from; `nil` until it is first needed.
        var layers: ConfigLayers?
        var defaults: [String: RemoteConfigValue] = [:]
        /// What the app's code has set while it is developed.
        var overrides: [String: RemoteConfigValue] = [:]
        /// Why snapshots are not used.
        var problems: [String] = []
        /// Whether a fetch is under way, which notes its outcome itself.
        var isFetching = false
        /// The newest fetched state that listeners were told about.
        var announced: Timestamp?
        var announcer: Task<Void, Never>?
    }

    private static let shared = Mutex<RemoteConfig?>(nil)

    /// The name of the collection that holds the parameters.
    public let collectionName: String
    /// When what was fetched takes effect.
    public let activation: RemoteConfigActivation
    let client: RemoteSettingsClient
    let givenInstallation: String?
    let state = Mutex(State())
    let store: ConfigStore
    let hub = ObserverHub()
    let fetches = SharedWork<RemoteConfigFetchKey, RemoteConfigFetchOutcome, Never>(endsWithLastCaller: true)
    private let settings: Mutex<RemoteConfigSettings>
    private let observation = ValuesObservation()
    /// Hears of syncs that others than ``fetch()`` have asked for.
    private let syncs = Mutex<UpdateListening?>(nil)

    /// A remote config of its own, apart from the one that ``remoteConfig()`` returns. Does no I/O.
    ///
    /// - Parameters:
    ///   - collection: the collection's name, in the bucket of the service's configuration; or `bucket/name`. Nothing
    ///     but parameters may be in it.
    ///   - service: what fetches, verifies and packages it. Other collections of it stay as they are.
    ///   - settings: how often, and for how long, it fetches.
    ///   - activation: when what was fetched takes effect.
    ///   - installationID: what percentages depend on, `env.id`, such as the id of a user who has several devices;
    ///     `nil` for a random one that is kept in the storage directory.
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
        let listening = client.onSync { [weak self] began in await self?.noteSync(began: began) }
        syncs.withLock { $0 = listening }
    }

    deinit {
        state.withLock { $0.announcer }?.cancel()
        hub.finish()
    }

    /// Makes the remote config that ``remoteConfig()`` returns. Call it once, when the app starts. Does no I/O.
    ///
    /// The parameters are those of ``init(collection:service:settings:activation:installationID:)``. If it is called
    /// again, ``remoteConfig()`` returns the new one from then on; those that were handed out stay as they are.
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

    /// The remote config of the app. It is a programming error to ask for it before
    /// ``configure(collection:service:settings:activation:installationID:)``.
    public static func remoteConfig() -> RemoteConfig {
        guard let config = shared.withLock({ $0 }) else {
            preconditionFailure(
                "RemoteConfig.remoteConfig() was called before RemoteConfig.configure(collection:service:); configure it "
                    + "when the app starts")
        }
        return config
    }

    /// How often, and for how long, it fetches. Reading the settings has no effect; changing them takes effect at the
    /// next fetch.
    public var configSettings: RemoteConfigSettings {
        get { settings.withLock { $0 } }
        set { settings.withLock { $0 = newValue } }
    }

    /// The value of a key: remote or packaged, else the app's default, else empty.
    public subscript(key: String) -> RemoteConfigValue { layers().value(key) }

    /// The value of a key: remote or packaged, else the app's default, else empty.
    ///
    /// - Parameter key: the key; `nil`, as in Firebase, is one that nobody has a value for.
    public func configValue(forKey key: String?) -> RemoteConfigValue { key.map(layers().value) ?? .none }

    /// The values of this moment: several keys read from it belong to one state.
    public func snapshot() -> RemoteConfigSnapshot { RemoteConfigSnapshot(layers: layers()) }

    /// Reads and verifies what serves, if no read has done so yet, so that the first read of a value need not.
    public func ensureInitialized() async throws(RemoteConfigError) { _ = layers() }

    /// Stands for all values to observers.
    private var observed: Bool { true }

    func layers() -> ConfigLayers {
        if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *) {
            observation.registrar.access(self, keyPath: \.observed)
        }
        if let layers = state.withLock({ $0.layers }) { return layers }
        return load()
    }

    /// The first read. Two at once may both do it; the first result stays.
    private func load() -> ConfigLayers {
        let (layer, problems) = startingLayer()
        return state.withLock { state in
            if let layers = state.layers { return layers }
            let layers = ConfigLayers(
                parameters: layer, defaults: state.defaults, fixed: state.overrides, reads: ReadLog(hub))
            state.layers = layers
            state.problems = problems
            return layers
        }
    }

    /// Puts other layers in the place of those that values are read from, and tells observers.
    func replaceLayers(_ change: (inout State) -> Void) {
        guard #available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *) else {
            return state.withLock { change(&$0) }
        }
        observation.registrar.withMutation(of: self, keyPath: \.observed) { state.withLock { change(&$0) } }
    }
}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
extension RemoteConfig: Observable {}
