import ConfigParameters
import FileStorage
import Observation
import RemoteSettings
import RemoteSettingsModel
import Synchronization
import TargetFilter

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Remote config: parameters with defaults, fetched, activated and read by key, on a signed collection that may be packaged
/// with the app.
///
///     RemoteConfig.configure(collection: "app-config", service: service)
///     let config = RemoteConfig.remoteConfig()
///     config.setDefaults(["banner": "Welcome", "price": 3])
///     config["banner"].stringValue         // packaged with the app, or the default
///     try await config.fetchAndActivate()  // asks the server where that is due
///
/// A value is the one of the newest state that was activated or packaged; else the app's default; else empty. What is
/// fetched waits for ``activate()``. Reading never uses the network, never fails, and takes no lock under which I/O is done.
/// The first read in a process does I/O: it reads and verifies what serves. Instances may be used from many threads.
///
/// It is `Observable`: a SwiftUI view, or `withObservationTracking` on any system, that reads a value is told when an
/// activation changes values.
public final class RemoteConfig: RemoteConfigReading, Observable, Sendable {
    struct State {
        /// What values are read from; `nil` until it is first needed.
        var layers: ConfigLayers?
        var defaults: [String: RemoteConfigValue] = [:]
        /// What was last read from the state file, or written to it.
        var kept: ConfigState?
        /// Whether `kept` could not be written, so that the file is older.
        var isAheadOfFile = false
        /// Why snapshots are not used.
        var problems: [String] = []
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
    let hub = ObserverHub()
    let fetches = SharedWork<RemoteConfigFetchKey, RemoteConfigFetchOutcome, Never>(endsWithLastCaller: true)
    private let settings: Mutex<RemoteConfigSettings>
    private let registrar = ObservationRegistrar()

    /// A remote config of its own, apart from the one that ``remoteConfig()`` returns. Does no I/O.
    ///
    /// - Parameters:
    ///   - collection: the collection's name, in the bucket of the service's configuration; or `bucket/name`. Nothing but
    ///     parameters may be in it.
    ///   - service: what fetches, verifies and packages it. Other collections of it stay as they are.
    ///   - settings: how often, and for how long, it fetches.
    ///   - activation: when what was fetched takes effect.
    ///   - installationID: what percentages depend on, `env.id`, such as the id of a user who has several devices; `nil` for
    ///     a random one that is kept in the storage directory.
    public init(
        collection: String, service: RemoteSettingsService, settings: RemoteConfigSettings = RemoteConfigSettings(),
        activation: RemoteConfigActivation = .onRequest, installationID: String? = nil
    ) {
        collectionName = collection
        client = service.makeClient(collectionName: collection)
        self.settings = Mutex(settings)
        self.activation = activation
        givenInstallation = installationID
    }

    deinit {
        state.withLock { $0.announcer }?.cancel()
        hub.finish()
    }

    /// Makes the remote config that ``remoteConfig()`` returns. Call it once, when the app starts. Does no I/O.
    ///
    /// The parameters are those of ``init(collection:service:settings:activation:installationID:)``. Where it is called
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

    /// How often, and for how long, it fetches. Reading the settings has no effect; changing them takes effect at the next
    /// fetch.
    public var configSettings: RemoteConfigSettings {
        get { settings.withLock { $0 } }
        set { settings.withLock { $0 = newValue } }
    }

    /// The value of a key: remote or packaged, else the app's default, else empty.
    public subscript(key: String) -> RemoteConfigValue { layers().value(key) }

    /// The value of a key: remote or packaged, else the app's default, else empty.
    public func configValue(forKey key: String) -> RemoteConfigValue { layers().value(key) }

    /// The values of this moment: several keys read from it belong to one state.
    public func snapshot() -> RemoteConfigSnapshot { RemoteConfigSnapshot(layers: layers()) }

    /// Reads and verifies what serves, if no read has done so yet, so that the first read of a value need not.
    public func ensureInitialized() async throws(RemoteConfigError) { _ = layers() }

    /// Stands for all values to observers.
    private var observed: Bool { true }

    func layers() -> ConfigLayers {
        registrar.access(self, keyPath: \.observed)
        if let layers = state.withLock({ $0.layers }) { return layers }
        return load()
    }

    /// Puts other layers in the place of those that values are read from, and tells observers.
    func replaceLayers(_ change: (inout State) -> Void) {
        registrar.withMutation(of: self, keyPath: \.observed) { state.withLock { change(&$0) } }
    }
}

// MARK: - What is kept

extension RemoteConfig {
    /// The first read. Two at once may both do it; the first result stays.
    private func load() -> ConfigLayers {
        let (layer, problems) = startingLayer()
        return state.withLock { state in
            if let layers = state.layers { return layers }
            let layers = ConfigLayers(parameters: layer, defaults: state.defaults)
            state.layers = layers
            state.problems = problems
            return layers
        }
    }

    /// The newest state that is active at a start.
    private func startingLayer() -> (layer: ParameterLayer?, problems: [String]) {
        let access: CollectionAccess
        do throws(RemoteSettingsError) {
            access = try client.access
        } catch {
            return (nil, ["\(error)"])
        }
        var problems: [String] = []
        var file: ConfigStateFile?
        do throws(FileError) {
            file = try ConfigStateFile.read(access.keptPath, limits: access.limits)
        } catch {
            problems.append("\(error)")
        }
        var unused: [SnapshotStatus.Unused] = []
        var candidates: [CollectionAccess.Found] = []
        if let kept = access.newest(kept: file?.snapshot, unused: &unused) { candidates.append(kept) }
        if activation == .onNextStart, let held = access.held(),
            candidates.first.map({ held.snapshot.timestamp >= $0.snapshot.timestamp }) ?? true
        {
            candidates.insert(held, at: 0)
        }
        problems += unused.filter { $0.reason != .older }.map(\.description)
        guard !candidates.isEmpty else { return (nil, problems) }
        let hasFilters = candidates.contains { $0.snapshot.records.mayMentionFilters }
        let kept = startingState(file?.state, access, isNeeded: hasFilters)
        func firstLayer(of candidates: [CollectionAccess.Found]) -> ParameterLayer? {
            for candidate in candidates {
                do throws(ParameterRecordError) {
                    return try layer(candidate, access, kept)
                } catch {
                    problems.append("\(access.id): \(error)")
                }
            }
            return nil
        }
        if let layer = firstLayer(of: candidates) { return (layer, problems) }
        // Records that are no parameters, packaged with a new version of the app, do not take the active values away.
        let tried = candidates.map(\.snapshot.timestamp)
        guard let active = access.newest(kept: file?.snapshot, usesPackaged: false, unused: &unused),
            !tried.contains(active.snapshot.timestamp)
        else { return (nil, problems) }
        return (firstLayer(of: [active]), problems)
    }

    private func layer(
        _ found: CollectionAccess.Found, _ access: CollectionAccess, _ kept: ConfigState
    ) throws(ParameterRecordError) -> ParameterLayer {
        try ParameterLayer(
            found, server: access.server, context: context(access, kept), limits: access.limits.filter)
    }

    /// What is kept, with an id of this installation that is the same at the next start.
    ///
    /// - Parameter isNeeded: whether a value may depend on the id, so that it has to be stored at once.
    private func startingState(_ found: ConfigState?, _ access: CollectionAccess, isNeeded: Bool) -> ConfigState {
        if let known = state.withLock({ $0.kept }) ?? found {
            state.withLock { if $0.kept == nil { $0.kept = known } }
            return known
        }
        guard isNeeded, givenInstallation == nil else { return currentState(access) }
        // Another process may be starting for the first time as well: both have to end up with one id. Nothing is lost
        // where the machine fails before it is on the disk.
        let stored = try? access.withStorageLockBlocking(tries: 100) { () -> ConfigState in
            if let file = try ConfigStateFile.read(access.keptPath, limits: access.limits) { return file.state }
            let file = ConfigStateFile(state: currentState(access), snapshot: nil)
            try file.write(to: access.keptPath, flushing: false)
            return file.state
        }
        guard let stored else { return currentState(access) }
        return state.withLock { state in
            state.kept = stored
            return stored
        }
    }

    /// What is kept, as far as this process knows; a new state where there is none.
    func currentState(_ access: CollectionAccess) -> ConfigState {
        state.withLock { state in
            if let kept = state.kept { return kept }
            let random = access.environment.random
            let digits = Array("0123456789abcdef")
            let id = String((0..<32).map { _ in digits[Int(min(max(random(), 0), 0.999) * 16)] })
            let new = ConfigState(installation: givenInstallation ?? id)
            state.kept = new
            return new
        }
    }

    /// The state file as it is now, or what this process knows where that is newer, or where there is no file or it cannot be
    /// read.
    func presentFile(_ access: CollectionAccess) -> ConfigStateFile {
        presentFile(access, read: (try? ConfigStateFile.read(access.keptPath, limits: access.limits)) ?? nil)
    }

    /// Like ``presentFile(_:)``, for what is to be written back.
    ///
    /// - Throws: `FileError` where the file cannot be read.
    func readableFile(_ access: CollectionAccess) throws(FileError) -> ConfigStateFile {
        presentFile(access, read: try ConfigStateFile.read(access.keptPath, limits: access.limits))
    }

    private func presentFile(_ access: CollectionAccess, read: ConfigStateFile?) -> ConfigStateFile {
        var file = read
        if file == nil || state.withLock({ $0.isAheadOfFile }) {
            file = ConfigStateFile(state: currentState(access), snapshot: file?.snapshot)
        }
        let present = file ?? ConfigStateFile(state: currentState(access), snapshot: nil)
        state.withLock { $0.kept = present.state }
        return present
    }

    /// Changes what is kept, in the file and in memory. The storage lock must be held.
    ///
    /// - Throws: where the file cannot be read or written; memory is changed all the same. A file that cannot be read is not
    ///   replaced, and counts again as soon as it can be read.
    func keep(
        _ access: CollectionAccess, snapshot: Bytes? = nil, _ change: (inout ConfigState) -> Void
    ) throws {
        let read = Result { () throws(FileError) in
            try ConfigStateFile.read(access.keptPath, limits: access.limits)
        }
        var file = presentFile(access, read: (try? read.get()) ?? nil)
        let before = file
        change(&file.state)
        if let snapshot { file.snapshot = snapshot }
        state.withLock { state in
            state.kept = file.state
            if case .success = read { state.isAheadOfFile = true }
        }
        _ = try read.get()
        if try snapshot != nil || file.state != before.state || !FileStore.exists(access.keptPath) {
            try file.write(to: access.keptPath)
        }
        state.withLock { $0.isAheadOfFile = false }
    }

    /// What filters see: the service's context, the id of the installation, the present time, and the app's signals.
    func context(_ access: CollectionAccess, _ kept: ConfigState) -> FilterContext {
        var added = kept.signals.filterValues
        added["id"] = .string(givenInstallation ?? kept.installation)
        added["now"] = .number(Double(access.environment.now().milliseconds))
        return access.filterContext.adding(added)
    }

    /// A hash of what filters see, apart from the time.
    func contextHash(_ access: CollectionAccess, _ kept: ConfigState) -> String {
        let context = access.filterContext.adding(kept.signals.filterValues)
        return SHA256Digest(hashing: Bytes(utf8: FilterValue.object(context.root).stableText)).hex
    }
}

extension FilterContext {
    /// This context with further members of `env`. Members that are there stay.
    fileprivate func adding(_ members: [String: FilterValue]) -> FilterContext {
        var root = root
        var env = FilterObject()
        if case .object(let present) = root["env"] { env = present }
        for (key, value) in members.sorted(by: { $0.key < $1.key }) where env[key] == .undefined { env[key] = value }
        root["env"] = .object(env)
        return FilterContext(root: root, preferences: preferences)
    }
}

extension FilterValue {
    /// A text that is the same in every process, and differs where the value does.
    fileprivate var stableText: String {
        switch self {
        case .undefined: "u"
        case .null: "n"
        case .bool(let value): value ? "t" : "f"
        case .number(let number): "#\(number)"
        case .string(let text): "'\(text.utf8.count):\(text)"
        case .array(let elements): "[" + elements.map(\.stableText).joined(separator: ",") + "]"
        case .object(let object):
            "{"
                + object.members.sorted { $0.key < $1.key }
                .map { "\($0.key.utf8.count):\($0.key)=\($0.value.stableText)" }.joined(separator: ",") + "}"
        }
    }
}
