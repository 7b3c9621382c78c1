import ContentSignature
import Logging
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotFetch
import Synchronization
import TargetFilter

/// What one configuration comes to: an `updateConfig` makes a new one. Making it does no I/O.
final class Session: Sendable {
    private struct State {
        var loader: SnapshotLoader?
        var client: ServerClient?
        var collections: [CollectionID: CollectionState] = [:]
        var telemetry: (any RemoteSettingsTelemetry)?
        var isClosed = false
    }

    let config: RemoteSettingsConfig
    let storage: StorageDirectory
    let server: Result<ServerURL, RemoteSettingsError>
    let policy: TrustPolicy
    let events: ChangeHub
    /// Where the server has attachments.
    let attachmentsURL = AttachmentsURLSource()
    let serviceSyncs = SharedTask<[CollectionSyncResult]>()
    private let filterContext: FilterContext
    private let state: Mutex<State>

    var limits: Limits { config.limits }
    var logger: Logger { config.logger }
    var isClosed: Bool { state.withLock { $0.isClosed } }
    var now: Timestamp { config.environment.now() }

    init(_ config: RemoteSettingsConfig, storage: StorageDirectory, events: ChangeHub) {
        self.config = config
        self.storage = storage
        self.events = events
        let server = config.server ?? .prod
        self.server = Result { () throws(RemoteSettingsError) in
            try server.serverURL(allowPlainHTTP: config.allowsPlainHTTP)
        }
        policy = TrustPolicy(
            roots: config.trustRoots ?? (server == .prod ? .mozillaProduction : .mozillaStaging),
            signer: config.signer.map { SignerName($0) }, acceptsUnsigned: config.acceptsUnsigned)
        filterContext = config.appContext?.filterContext ?? .empty
        state = Mutex(State(telemetry: config.telemetry))
    }

    /// What reads and verifies snapshots. The first call reads the locks of packaged sources.
    var loader: SnapshotLoader {
        if let known = state.withLock({ $0.loader }) { return known }
        let loader = SnapshotLoader(
            server: (try? server.get()).map { ServerIdentity($0) } ?? ServerIdentity("no valid server"),
            verifier: KeptSnapshotVerifier(policy, limits: limits), storage: storage,
            packaged: PackagedIndex(config.packaged, limits: limits), limits: limits, logger: logger)
        return state.withLock { state in
            if let first = state.loader { return first }
            state.loader = loader
            return loader
        }
    }

    /// Who receives what becomes of syncs, those under way included.
    var telemetry: (any RemoteSettingsTelemetry)? {
        get { state.withLock { $0.telemetry } }
        set { state.withLock { $0.telemetry = newValue } }
    }

    func collection(_ id: CollectionID) -> CollectionState {
        state.withLock { state in
            if let known = state.collections[id] { return known }
            let new = CollectionState(id, in: storage)
            if !state.isClosed { state.collections[id] = new }
            return new
        }
    }

    /// The collections that were asked for under this configuration.
    var collections: [CollectionState] { state.withLock { Array($0.collections.values) } }

    /// A client for one run: a sync, or the download of one or more attachments. The first call reads the holds that are in
    /// force.
    func startingRun() throws(RemoteSettingsError) -> ServerClient {
        if let known = state.withLock({ $0.client }) { return known.startingRun() }
        let server = try server.get()
        let client = ServerClient(
            server: server, transport: config.transport ?? DefaultTransport.make(), userAgent: config.userAgent,
            limits: limits, environment: config.environment,
            backoff: BackoffFile.read(storage.backoffPath, limits: limits),
            onEvent: { [logger] event in Self.note(event, logger) })
        return state.withLock { state in
            if let first = state.client { return first.startingRun() }
            state.client = client
            return client
        }
    }

    private static func note(_ event: HTTPEvent, _ logger: Logger) {
        switch event {
        case .alert(let text, let url): logger.warning("the server \(url.origin) announces: \(text)")
        case .retry(let error, let attempt, _): logger.info("attempt \(attempt) failed, trying again: \(error)")
        case .redirect(let from, let to): logger.debug("\(from) redirects to \(to)")
        case .hold(let hold): logger.info("\(hold.origin) asks for no requests until \(hold.until.rfc3339)")
        }
    }

    /// A snapshot's records that are for this app.
    func filtered(_ held: HeldSnapshot) -> [RemoteSettingsRecord] {
        var records: [RemoteSettingsRecord] = []
        records.reserveCapacity(held.records.count)
        guard held.records.mayMentionFilters else {
            for record in held.records { records.append(RemoteSettingsRecord(record)) }
            return records
        }
        var filter = RecordFilter(context: filterContext, limits: limits.filter)
        for record in held.records where filter.includes(record) { records.append(RemoteSettingsRecord(record)) }
        return records
    }

    /// Ends what is under way. Reads go on being answered.
    func close() {
        let collections = state.withLock { state in
            state.isClosed = true
            return Array(state.collections.values)
        }
        serviceSyncs.close()
        for collection in collections { collection.syncs.close() }
    }
}
