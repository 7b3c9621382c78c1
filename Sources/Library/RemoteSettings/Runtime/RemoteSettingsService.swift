import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import TargetFilter

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The entry point of Remote Settings for an app: it creates clients for collections and syncs them all.
///
/// Clients can read without the network. Records come from the newest snapshot, which was either stored by a sync or
/// packaged with the app.
///
///     let service = RemoteSettingsService(storageDirectory: path, config: RemoteSettingsConfig())
///     let client = service.makeClient(collectionName: "markets")
///     let records = client.records
public final class RemoteSettingsService: Sendable {
    private struct State {
        var session: Session
        /// The collections that have been used since the session began, even if they no longer have a client.
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

    /// Creates a service. Does no I/O.
    ///
    /// An error in the configuration is logged at once, and every sync throws it.
    /// ``init(storageDirectory:validating:)-(String,_)`` throws it directly.
    ///
    /// - Parameters:
    ///   - storageDirectory: the path of a directory for synced data. It is created when it is first needed. Several
    ///     processes may share one.
    ///   - config: the configuration, such as the server, the packaged snapshots and the trusted roots.
    public convenience init(storageDirectory: String, config: RemoteSettingsConfig) {
        self.init(StorageDirectory(path: storageDirectory, isReadOnly: config.storageAccess == .readOnly), config)
    }

    /// Creates a service that stores its data in a private temporary directory, which is deleted with the service. Does
    /// I/O.
    public convenience init(config: RemoteSettingsConfig) { self.init(StorageDirectory(path: nil), config) }

    private init(_ storage: StorageDirectory, _ config: RemoteSettingsConfig) {
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

    /// Creates a service, after checking that the configuration is valid and that everything packaged can be used. Does
    /// I/O.
    ///
    /// Each packaged bundle must exist, be intact, and have the state listed in its lock file. A signed bundle must
    /// have a chain to a pinned root; an unsigned one must be accepted by the configuration. Every byte is read.
    ///
    /// - Throws: ``RemoteSettingsError`` with all problems found.
    public convenience init(storageDirectory: String, validating config: RemoteSettingsConfig)
        throws(RemoteSettingsError)
    {
        self.init(storageDirectory: storageDirectory, config: config)
        if let problem = session.configurationProblem { throw problem }
        try session.choice.validatePackaged()
    }

    /// Creates a service with a storage directory given by URL. See ``init(storageDirectory:config:)-(String,_)``.
    public convenience init(storageDirectory: URL, config: RemoteSettingsConfig) {
        self.init(storageDirectory: storageDirectory.path, config: config)
    }

    /// Creates a validated service with a storage directory given by URL. See
    /// ``init(storageDirectory:validating:)-(String,_)``.
    public convenience init(storageDirectory: URL, validating config: RemoteSettingsConfig) throws(RemoteSettingsError)
    { try self.init(storageDirectory: storageDirectory.path, validating: config) }

    /// The session of the current configuration.
    var session: Session { state.withLock { $0.session } }

    /// Returns a collection under the current configuration. Does no I/O.
    ///
    /// - Throws: an error if the name is not valid for a collection.
    func collection(_ name: String) throws(RemoteSettingsError) -> LocalCollection {
        try state.withLock { (state) throws(RemoteSettingsError) in
            state.collection(try state.session.collectionID(name))
        }
    }

    /// Returns a collection, given its id on the server, under the current configuration. Does no I/O.
    func collection(id: CollectionID) -> LocalCollection { state.withLock { $0.collection(id) } }

    /// Creates a client for a collection. Does no I/O.
    ///
    /// - Parameter collectionName: the collection's name in the configured bucket, or `bucket/name`.
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

    /// Updates every collection that has a client to the server's state. Uses the network.
    ///
    /// Clients that were shut down or released do not count.
    ///
    /// - Parameters:
    ///   - trigger: the reason reported to telemetry.
    ///   - timeout: the longest time to wait; `nil` for the limits of ``RemoteSettingsLimits``. When it expires, the
    ///     sync is cancelled unless other callers are waiting for it too.
    /// - Returns: the names of the changed collections, sorted, each as given to ``makeClient(collectionName:)``.
    ///   `syncCollections` also returns those that were up to date.
    /// - Throws: ``RemoteSettingsError`` if the server's list of collections could not be fetched, if the timeout
    ///   expired (``RemoteSettingsError/timedOut(reason:)``), or if the service has no client, so that there is nothing
    ///   to sync (``RemoteSettingsError/noClient``). If collections failed, or could not be stored, it throws the error
    ///   of the first one after all others are synced.
    @discardableResult
    public func sync(
        trigger: UptakeEvent.Trigger = .manual, timeout: Duration? = nil
    ) async throws(RemoteSettingsError) -> [String] {
        let (changed, results) = try await syncClients(trigger: trigger, timeout: timeout)
        if let failure = results.lazy.compactMap(\.failure).first { throw failure }
        return changed
    }

    /// Syncs like ``sync(trigger:timeout:)``, and also returns the results of collections that failed.
    package func syncClients(
        trigger: UptakeEvent.Trigger, timeout: Duration? = nil
    ) async throws(RemoteSettingsError) -> (changed: [String], results: [CollectionSyncResult]) {
        let session = session
        guard !session.isClosed else { throw .closed }
        guard !liveClients.isEmpty else { throw .noClient }
        let names = Dictionary(
            liveClients.map { ((try? session.collectionID($0.collectionName))?.description, $0.collectionName) }
        ) { $0.utf8.count < $1.utf8.count ? $0 : $1 }
        let results = try await syncCollections(trigger: trigger, timeout: timeout)
        return (results.filter(\.isChanged).map { names[$0.collection] ?? $0.collection }.sorted(), results)
    }

    /// Syncs like `sync()`, and returns the result of each collection. If one fails, the others are still synced.
    ///
    /// - Parameters:
    ///   - timestamp: the timestamp that a push message announced; `nil` for none.
    ///   - trigger: the reason reported to telemetry. If it is `nil`, `broadcast` is reported if there is an expected
    ///     timestamp, otherwise `manual`.
    ///   - timeout: see ``sync(trigger:timeout:)``.
    /// - Returns: the results, sorted by collection; none if the service has no client.
    /// - Throws: ``RemoteSettingsError`` if the server's list of collections could not be fetched, or if the timeout
    ///   expired.
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
            guard let collection = try? collection(client.collectionName) else { continue }
            collections[collection.id] = collection
        }
        return collections.values.sorted { $0.id < $1.id }
    }

    /// Replaces the configuration, for existing clients as well. Running syncs are cancelled.
    ///
    /// The telemetry receiver is kept unless `config` contains one.
    ///
    /// - Throws: ``RemoteSettingsError`` if the configuration is not valid. The current configuration then remains in
    ///   force.
    public func updateConfig(config: RemoteSettingsConfig) throws(RemoteSettingsError) {
        let old = session
        let session = Session(
            config, storage: old.storage, changes: changes, trials: old.trials, telemetry: old.telemetry)
        session.service = self
        if session.serverIdentity == old.serverIdentity { session.notes.withLock { $0 = old.notes.withLock { $0 } } }
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
        if goesOn, replaced.filterContext != session.filterContext {
            sendChanges(ofContextAfter: replaced.filterContext)
        }
        if isShutDown { session.close() }
        updates.use(session, of: self)
    }

    /// Notifies listeners of the records that a change of the app's context has added or removed.
    private func sendChanges(ofContextAfter old: FilterContext) {
        for collection in state.withLock({ Array($0.collections.values) }) {
            collection.sendChanges(ofContextAfter: old)
        }
    }

    /// What the app says about itself, for filters. A change cancels nothing: the next read filters anew, and listeners
    /// receive the records that were added or removed.
    public var appContext: RemoteSettingsContext? {
        get { session.appContext }
        set {
            let session = session
            let old = session.use(newValue)
            if old != session.filterContext { sendChanges(ofContextAfter: old) }
        }
    }

    /// The server's base URL; empty if the configured one is not valid.
    public var serverURL: String { (try? session.server.get()).map { "\($0)" } ?? "" }

    /// The receiver of sync outcomes, including those of running syncs.
    public var telemetry: (any RemoteSettingsTelemetry)? {
        get { session.telemetry }
        set { session.telemetry = newValue }
    }

    /// Cancels running syncs and finishes every stream of changes. Reads still work; syncs fail from now on.
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

extension RemoteSettingsService {
    /// Returns the state of the service as known on this device. Never uses the network.
    ///
    /// Does I/O: it reads and verifies every collection that has a client or stored data.
    public func inspect() -> ServiceInspection { inspection(monitor: nil) }

    /// Returns the state of the service with the server's timestamps. Sends one request and syncs nothing. See
    /// ``inspect()``.
    ///
    /// - Throws: ``RemoteSettingsError`` if the server's list of collections could not be fetched, or if the service
    ///   was shut down.
    public func inspectWithServer() async throws(RemoteSettingsError) -> ServiceInspection {
        let session = session
        guard !session.isClosed else { throw .closed }
        let client = try session.startingRun()
        do {
            guard case .changes(let document, _) = try await WorkThreads.run({ try await client.monitor() }) else {
                throw RemoteSettingsError.other(
                    reason: "\(client.server): the server sent no list of its collections (204); try again later")
            }
            return inspection(monitor: try MonitorChangeset(parsing: document.body))
        } catch {
            session.keepBackoff(client)
            throw RemoteSettingsError(error)
        }
    }

    /// The current states of the collections as one line, for logs, metrics or the user agent of a fleet.
    ///
    /// For each collection that has a client, it contains the name, the timestamp in milliseconds, and the first 12
    /// hexadecimal digits of the SHA-256 of the signed payload, for example `main/markets@1795440661471:4355a46b19d3
    /// main/words@-`.
    ///
    /// Equal strings mean equal records. A dash means that there is no local state. Does I/O, and never uses the
    /// network.
    public var stateSummary: String {
        clientCollections.map { collection in
            guard let payload = collection.current().snapshot?.payload else { return "\(collection.id)@-" }
            let digest = SHA256Digest(hashing: payload.bytes).hex.prefix(12)
            return "\(collection.id)@\(payload.timestamp):\(digest)"
        }.joined(separator: " ")
    }

    /// The start time of the last successful sync of this process or an earlier one, by this device's clock; `nil` if
    /// there was none. A sync that changed nothing is stored for later processes if the stored time is ten minutes old.
    /// Reads the index of the storage directory, which is not verified.
    public var lastCheck: RemoteSettingsTimestamp? { session.journal.lastCheck }

    /// The difference between this device's clock and the server's at the last sync of this process or an earlier one;
    /// positive if the device's clock was ahead.
    ///
    /// It is `nil` if there was no sync, or if the server sends no time. The server's time is not authenticated, so
    /// signatures are not checked against it. Does I/O.
    public var clockSkew: Duration? { session.journal.clockSkewDuration }

    private func inspection(monitor: MonitorChangeset?) -> ServiceInspection {
        let session = session
        let journal = session.journal
        let clients = Set(clientCollections.map(\.id))
        let index = session.storage.index()
        let ids = clients.union(index.ids).union(journal.failures.keys).sorted()
        let server = try? session.server.get()
        let holds = index.backoff.holds(at: session.now)
        return ServiceInspection(
            server: server.map { "\($0)" } ?? "", isPreview: session.config.isPreview,
            storage: session.storage.path,
            lastCheck: journal.lastCheck, clockSkew: journal.clockSkewDuration,
            backoffUntil: holds.first { $0.origin == server?.root.origin }?.until,
            collections: ids.map { id in
                .init(
                    status: collection(id: id).status, serverTimestamp: monitor?.collections[id],
                    lastSuccess: journal.successes[id], failures: journal.failures[id], hasClient: clients.contains(id))
            })
    }

    /// Removes all stored data of every collection, with or without a client, and the record of past syncs.
    ///
    /// This includes the data that protects collections from rollbacks to older states. Packaged records are then used
    /// again. A backoff requested by the server remains in force, and files in the storage directory that the library
    /// did not write are kept. Does I/O.
    ///
    /// - Throws: ``RemoteSettingsError`` if the files cannot be removed, or if another process is writing.
    public func resetStorage() async throws(RemoteSettingsError) {
        let session = session
        do {
            let storage = session.storage
            if try FileStore.isDirectory(storage.path) {
                try storage.prepare()
                let ids = storage.index().ids
                let (_, problem) = try storage.update(waiting: .no) { index in
                    (index.collections, index.configs, index.schedules, index.journal) = ([:], [:], [:], nil)
                }
                if let problem { throw problem }
                for id in ids { session.trials.forget(id) }
                // The folders of buckets, and those of collections in them.
                try storage.removeOwnFiles(in: storage.allAttachmentsPath, levels: 2)
                try storage.removeOwnFiles(in: storage.chainsPath, levels: 0)
            }
        } catch {
            throw RemoteSettingsError(error)
        }
        for collection in state.withLock({ Array($0.collections.values) }) { collection.forget() }
    }
}

extension RemoteSettingsClient {
    /// The failed syncs of this collection since the last successful one; `nil` if the last sync succeeded.
    ///
    /// Failures in earlier processes count too. Does I/O.
    public var syncFailures: SyncFailures? {
        guard let collection = try? collection() else { return nil }
        return collection.session.journal.failures[collection.id]
    }
}
