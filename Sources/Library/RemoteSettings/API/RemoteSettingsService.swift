import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Remote Settings for an app: makes clients for collections, and syncs them all.
///
/// Clients can read without the network. Records come from the newest snapshot, which is either stored by a sync or
/// packaged with the app.
///
///     let service = RemoteSettingsService(storageDir: path, config: RemoteSettingsConfig())
///     let client = service.makeClient(collectionName: "regions")
///     let records = client.getRecords()
public final class RemoteSettingsService: Sendable {
    private struct State {
        var session: Session
        /// The collections of the session that were asked for, whether or not a client is left.
        var collections: [CollectionID: LocalCollection] = [:]
        var clients: [WeakClient] = []
        var isShutDown = false

        mutating func collection(_ id: CollectionID) -> LocalCollection {
            if let known = collections[id] { return known }
            let new = LocalCollection(id, session)
            collections[id] = new
            return new
        }
    }

    private struct WeakClient {
        weak var client: RemoteSettingsClient?
    }

    let changes = ChangeHub()
    let updates: UpdateChannel
    private let state: Mutex<State>

    /// Makes a service. Does no I/O.
    ///
    /// A mistake in the configuration is logged at once as an error, and every sync throws it.
    /// ``init(storageDir:validating:)-(String,_)`` throws it here.
    ///
    /// - Parameters:
    ///   - storageDir: the path of a directory for what syncs store. It is made when it is first needed. Several
    ///     processes may share one.
    ///   - config: the server, what is packaged, and whom to trust.
    public init(storageDir: String, config: RemoteSettingsConfig) {
        let storage = StorageDirectory(
            path: storageDir, isReadOnly: config.storageAccess == .readOnly, limits: config.limits.all)
        let session = Session(config, storage: storage, changes: changes, trials: StateTrials(storage, config))
        state = Mutex(State(session: session))
        updates = UpdateChannel { [changes] in changes.hasListeners }
        updates.use(session, of: self)
        session.service = self
        changes.onListeners { [weak updates] in updates?.evaluate() }
    }

    deinit {
        updates.close()
        changes.finishAll()
    }

    /// Like ``init(storageDir:config:)-(String,_)``, and checks at once that the configuration is valid and that
    /// everything packaged can be used. Does I/O.
    ///
    /// Each packaged bundle must exist, be whole, and be of the state that its lock states. It must be signed up to a
    /// pinned root, or be one of the configured server that needs no signature. Every byte is read.
    ///
    /// - Throws: ``RemoteSettingsError`` with everything that is wrong.
    public convenience init(storageDir: String, validating config: RemoteSettingsConfig) throws(RemoteSettingsError) {
        self.init(storageDir: storageDir, config: config)
        if let problem = session.configurationProblem { throw problem }
        try session.choice.validatePackaged()
    }

    /// Like ``init(storageDir:config:)-(String,_)``, by the directory's URL.
    public convenience init(storageDir: URL, config: RemoteSettingsConfig) {
        self.init(storageDir: storageDir.path, config: config)
    }

    /// Like ``init(storageDir:validating:)-(String,_)``, by the directory's URL.
    public convenience init(storageDir: URL, validating config: RemoteSettingsConfig) throws(RemoteSettingsError) {
        try self.init(storageDir: storageDir.path, validating: config)
    }

    /// The configuration in force.
    var session: Session { state.withLock { $0.session } }

    /// The collection under the configuration in force. Does no I/O.
    ///
    /// - Throws: if no collection can have the name.
    func collection(_ name: String) throws(RemoteSettingsError) -> LocalCollection {
        try state.withLock { (state) throws(RemoteSettingsError) in
            state.collection(try state.session.collectionID(name))
        }
    }

    /// Like ``collection(_:)``, by the id that the server has for it.
    func collection(id: CollectionID) -> LocalCollection { state.withLock { $0.collection(id) } }

    /// Makes a client for a collection. Does no I/O.
    ///
    /// - Parameter collectionName: the collection's name, in the configured bucket; or `bucket/name`.
    public func makeClient(collectionName: String) -> RemoteSettingsClient {
        let client = RemoteSettingsClient(collectionName, self)
        do throws(RemoteSettingsError) { _ = try session.collectionID(collectionName) } catch {
            session.logger.warning("a client was created with an invalid collection name: \(error)")
        }
        state.withLock { state in
            state.clients.removeAll { $0.client == nil }
            state.clients.append(WeakClient(client: client))
        }
        return client
    }

    /// Brings every collection that has a client to the server's state. Uses the network.
    ///
    /// Clients that were shut down or released do not count.
    ///
    /// - Parameters:
    ///   - trigger: the reason that telemetry reports.
    ///   - timeout: the longest time to wait; `nil` for the limits of ``RemoteSettingsLimits``. The sync ends then,
    ///     unless others wait for it as well.
    /// - Returns: the names of the collections that have changed, sorted, each as its client was made with.
    ///   `syncCollections` also returns those that were up to date.
    /// - Throws: ``RemoteSettingsError`` if the server's list of collections could not be fetched, if every collection
    ///   failed, or if the time is over (``RemoteSettingsError/timedOut(reason:)``). It is
    ///   ``RemoteSettingsError/noClient`` if the service has no client, so that there is nothing to sync.
    @discardableResult
    public func sync(
        trigger: UptakeEvent.Trigger = .manual, timeout: Duration? = nil
    ) async throws(RemoteSettingsError) -> [String] {
        let session = session
        guard !session.isClosed else { throw .closed }
        guard !liveClients.isEmpty else { throw .noClient }
        let names = Dictionary(
            liveClients.map { ((try? session.collectionID($0.collectionName()))?.description, $0.collectionName()) }
        ) { $0.utf8.count < $1.utf8.count ? $0 : $1 }
        let results = try await syncCollections(trigger: trigger, timeout: timeout)
        if case .failure(let error)? = results.first?.result, !results.contains(where: \.isSynced) { throw error }
        return results.filter(\.isChanged).map { names[$0.collection] ?? $0.collection }.sorted()
    }

    /// Like `sync()`, with the result of each collection. If one fails, the others are still synced.
    ///
    /// - Parameters:
    ///   - timestamp: the timestamp that a push message announced; `nil` for none.
    ///   - trigger: the reason that telemetry reports. If it is `nil`, that is `broadcast` with an expected timestamp,
    ///     else `manual`.
    ///   - timeout: as for ``sync(trigger:timeout:)``.
    /// - Returns: the results, sorted by collection; none if the service has no client.
    /// - Throws: ``RemoteSettingsError`` if the server's list of collections could not be fetched, or if the time is
    ///   over.
    @discardableResult
    public func syncCollections(
        expecting timestamp: RemoteSettingsTimestamp? = nil, trigger: UptakeEvent.Trigger? = nil,
        timeout: Duration? = nil
    ) async throws(RemoteSettingsError) -> [CollectionSyncResult] {
        let trigger = trigger ?? (timestamp == nil ? .manual : .broadcast)
        return try await session.within(timeout) { () async throws(RemoteSettingsError) in
            try await self.session.sync(
                self.clientCollections, expected: timestamp, trigger: trigger, outlivesCaller: timeout == nil
            ).get()
        }
    }

    /// The clients that were neither released nor shut down.
    var liveClients: [RemoteSettingsClient] {
        state.withLock { $0.clients.compactMap(\.client) }.filter { !$0.isShutDown }
    }

    /// The collections that have a client, sorted.
    var clientCollections: [LocalCollection] {
        var collections: [CollectionID: LocalCollection] = [:]
        for client in liveClients {
            guard let collection = try? collection(client.collectionName()) else { continue }
            collections[collection.id] = collection
        }
        return collections.values.sorted { $0.id < $1.id }
    }

    /// Makes every collection read again what is held.
    func forgetCollections() {
        session.forgetCatalogue()
        for collection in state.withLock({ Array($0.collections.values) }) { collection.forget() }
    }

    /// Puts another configuration in force, for existing clients as well. Syncs that are under way end.
    ///
    /// The receiver of telemetry stays the same unless `config` names another.
    ///
    /// - Throws: ``RemoteSettingsError`` if the configuration is not valid. The present configuration then stays in
    ///   force.
    public func updateConfig(config: RemoteSettingsConfig) throws(RemoteSettingsError) {
        let old = session
        let session = Session(
            config, storage: old.storage, changes: changes, trials: old.trials, telemetry: old.telemetry)
        session.service = self
        if let problem = session.configurationProblem { throw problem }
        _ = try session.collectionID("x")
        let (replaced, goesOn, isShutDown) = state.withLock { state in
            let replaced = state.session
            state.session = session
            let goesOn = session.trusts(likewise: replaced)
            state.collections =
                goesOn ? state.collections.mapValues { LocalCollection($0.id, session, after: $0) } : [:]
            return (replaced, goesOn, state.isShutDown)
        }
        replaced.close()
        if goesOn { sendChanges(from: replaced, to: session) }
        if isShutDown { session.close() }
        updates.use(session, of: self)
    }

    /// Tells the listeners which records another context has made theirs, or not theirs any more.
    private func sendChanges(from old: Session, to new: Session) {
        guard old.filterContext != new.filterContext else { return }
        for collection in state.withLock({ Array($0.collections.values) }) where changes.hasListeners(collection.id) {
            collection.sendChanges(ofContextAfter: old.filterContext)
        }
    }

    /// The server's base URL; empty if the configured one is not valid.
    public func clientUrl() -> String {
        (try? session.server.get()).map { "\($0)" } ?? ""
    }

    /// Sets the receiver of the outcomes of syncs, including those under way.
    public func setTelemetry(telemetry: any RemoteSettingsTelemetry) {
        session.telemetry = telemetry
    }

    /// Ends syncs that are under way and every stream of changes. Reads are still answered; syncs fail from now on.
    public func shutdown() {
        let session = state.withLock { state in
            state.isShutDown = true
            return state.session
        }
        updates.close()
        session.close()
        changes.finishAll()
    }
}
