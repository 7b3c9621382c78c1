import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust
import TargetFilter

#if canImport(Darwin)
import URLSessionTransport
#else
import CurlTransport
#endif

/// A service's configuration in force, and what is made from it once.
///
/// That is the trust policy, the filter context, the reader of snapshots and the connection to the server.
/// `updateConfig` closes a session and makes another one. Making one does no I/O.
final class Session: Sendable {
    private struct State {
        var loader: SnapshotLoader?
        var client: ServerClient?
        var telemetry: (any RemoteSettingsTelemetry)?
        var isClosed = false
        /// The last outcome of each source.
        var uptake: [String: CollectionAccess.Uptake] = [:]
        /// Whether files that killed writers have left were already removed.
        var hasTidied = false
        /// Called whenever the server has answered a sync.
        var onAnswer: (@Sendable () -> Void)?
        /// The collections that this process has synced together, and the server's timestamp up to which it has.
        var synced: (collections: Set<CollectionID>, timestamp: Timestamp)?
        /// The service whose configuration this is.
        weak var service: RemoteSettingsService?
    }

    let config: RemoteSettingsConfig
    let storage: StorageDirectory
    let server: Result<ServerURL, RemoteSettingsError>
    let trust: TrustPolicy
    /// The publisher whose catalogues are read; `nil` if the configuration names none, or a name that no publisher can
    /// have.
    let publisher: PublisherName?
    /// The catalogue in use.
    let catalogue = Mutex(KnownCatalogue())
    let changes: ChangeHub
    /// What the service knows of its states.
    let allTrials: StateTrials
    let filterContext: FilterContext
    let logger: ServiceLog
    /// The base URL of the server's attachments. The server is asked for it once.
    let attachmentsURL = AttachmentsURLSource()
    let syncs = SharedWork<CollectionID, SyncOutcome, Never>(endsWithLastCaller: false)
    /// Syncs of the whole service. There is one key, because a service has one list of collections.
    let serviceSyncs = SharedWork<Bool, [CollectionSyncResult], Never>(endsWithLastCaller: false)
    /// What is remembered about syncs from one process to the next.
    let journal: SyncJournalKeeper
    /// The syncs that have just failed.
    let failures: RecentFailures
    /// Downloads by the path of the file that they write.
    let downloads = SharedWork<String, Void, AttachmentProgress>(endsWithLastCaller: true)
    private let state: Mutex<State>

    var limits: Limits { config.limits.all }
    /// What the service knows of its states; `nil` if nothing checks states or counts starts.
    var trials: StateTrials? { allTrials.isAsked ? allTrials : nil }
    var isClosed: Bool { state.withLock { $0.isClosed } }
    var now: Timestamp { config.environment.now() }

    init(
        _ config: RemoteSettingsConfig, storage: StorageDirectory, changes: ChangeHub, trials: StateTrials,
        telemetry: (any RemoteSettingsTelemetry)? = nil
    ) {
        allTrials = trials
        if config.validate != nil { trials.ask() }
        self.config = config
        self.storage = storage
        self.changes = changes
        let server = config.server ?? .prod
        self.server = Result { () throws(RemoteSettingsError) in
            try server.serverURL(allowPlainHTTP: config.allowsPlainHTTP)
        }
        let identity = (try? self.server.get()).map { ServerIdentity($0) }
        journal = SyncJournalKeeper(storage, of: identity, limits: config.limits.all)
        failures = RecentFailures(config.environment)
        trust = config.trustPolicy
        // A preview is not published yet, so it is in no catalogue.
        publisher = config.isPreview ? nil : config.publisher.flatMap { PublisherName($0) }
        logger = ServiceLog(config.log)
        filterContext = config.appContext?.filterContext ?? .empty
        state = Mutex(State(telemetry: config.telemetry ?? telemetry))
        for override in config.overrides { logger.warning("\(override)") }
    }

    /// Finds and verifies snapshots. The first call reads the locks of packaged sources.
    var loader: SnapshotLoader {
        if let known = state.withLock({ $0.loader }) { return known }
        let loader = SnapshotLoader(
            server: (try? server.get()).map { ServerIdentity($0) } ?? ServerIdentity("no valid server"),
            verifier: KeptSnapshotVerifier(trust, limits: limits), storage: storage,
            packaged: PackagedLocks(config.packaged, limits: limits), readsCatalogues: publisher != nil,
            allTrials: allTrials, isPackagedOnly: config.isPackagedOnly, limits: limits, logger: logger,
            now: config.environment.now)
        return state.withLock { state in
            if let first = state.loader { return first }
            state.loader = loader
            return loader
        }
    }

    /// Whether the cached state, which a newer one replaces, becomes the one to go back to; `nil` if none is kept. Does
    /// I/O.
    func keepsPrevious(_ id: CollectionID) -> Bool? {
        guard let trials, trials.isSafeStart else { return nil }
        guard (try? storage.identity(id)) != .some(nil) else { return false }
        let subject = storage.trial(of: id)
        let old = try? storage.head(of: id, limits: limits)
        let kept = try? storage.head(of: id, at: subject.previousPath, limits: limits)
        return trials.keeps(old?.timestamp, of: subject, before: kept?.timestamp)
    }

    /// Whether both sessions believe the same snapshots of the same server.
    func trusts(likewise other: Session) -> Bool {
        guard let mine = try? server.get(), let theirs = try? other.server.get() else { return false }
        return ServerIdentity(mine) == ServerIdentity(theirs) && trust == other.trust
            && publisher == other.publisher
    }

    /// - Throws: if no publisher can have the name ``RemoteSettingsConfig/publisher``.
    func checkOrigin() throws(RemoteSettingsError) {
        guard let name = config.publisher, PublisherName(name) == nil else { return }
        throw .invalidName(
            reason:
                "RemoteSettingsConfig.publisher: expected \(PublisherName.rule), found \(VisibleText.quote(name)); write the "
                + "name that the publisher's dumps.yaml has")
    }

    /// The service whose configuration this is; `nil` once it is gone.
    var service: RemoteSettingsService? {
        get { state.withLock { $0.service } }
        set { state.withLock { $0.service = newValue } }
    }

    /// Receives the outcomes of syncs, including those under way.
    var telemetry: (any RemoteSettingsTelemetry)? {
        get { state.withLock { $0.telemetry } }
        set { state.withLock { $0.telemetry = newValue } }
    }

    /// The bucket of collections whose names give none.
    var bucketName: String { config.bucketName ?? "main" }

    /// - Parameter name: a collection's name, or `bucket/name`.
    func collectionID(_ name: String) throws(RemoteSettingsError) -> CollectionID {
        do throws(InvalidIdentifier) {
            let isQualified = name.utf8.contains(UInt8(ascii: "/"))
            let id = isQualified ? try CollectionID(name) : try CollectionID(bucket: bucketName, name: name)
            guard config.isPreview, !id.bucket.hasSuffix("-preview") else { return id }
            return try CollectionID(bucket: "\(id.bucket)-preview", name: id.name)
        } catch {
            throw .invalidName(reason: "\(error)")
        }
    }

    /// A client for one run: a sync, or the download of one or more attachments.
    ///
    /// The first call reads from the storage directory until when servers asked for no requests.
    func startingRun() throws(RemoteSettingsError) -> ServerClient {
        if config.network == .never { try checkNetwork() }
        if let known = state.withLock({ $0.client }) { return known.startingRun() }
        let server = try server.get()
        let client = ServerClient(
            server: server, transport: config.transport ?? Self.platformTransport(), userAgent: config.userAgentField,
            limits: limits, environment: config.environment,
            backoff: BackoffFile.read(storage.backoffPath, limits: limits),
            onEvent: { [logger] event in Self.log(event, logger) })
        return state.withLock { state in
            if let first = state.client { return first.startingRun() }
            state.client = client
            return client
        }
    }

    /// What fetches and verifies collections in one run.
    func fetcher(_ client: ServerClient) -> CollectionFetcher {
        let chains = ChainStore(
            client: client, policy: trust, time: now, keeper: ChainDirectory(storage: storage, limits: limits))
        return CollectionFetcher(client: client, chains: chains, policy: trust)
    }

    private static func platformTransport() -> any HTTPTransport {
        #if canImport(Darwin)
        URLSessionTransport()
        #else
        CurlTransport()
        #endif
    }

    private static func log(_ event: HTTPEvent, _ logger: ServiceLog) {
        switch event {
        case .alert(let text, let url): logger.warning("the server \(url.origin) announces: \(text)")
        case .retry(let error, let attempt, _): logger.info("attempt \(attempt) failed, trying again: \(error)")
        case .redirect(let from, let to): logger.debug("\(from) redirects to \(to)")
        case .wholeFile(let error): logger.info("\(error); the whole file is asked for")
        case .hold(let hold): logger.info("\(hold.origin) asks for no requests until \(hold.until.rfc3339)")
        }
    }

    /// Ends syncs that are under way, and refuses new ones. Reads are still answered.
    func close() {
        state.withLock { $0.isClosed = true }
        serviceSyncs.close()
        syncs.close()
    }
}

extension Session {
    /// Stores for the next process which servers asked for no requests, and until when.
    func keepBackoff(_ client: ServerClient) {
        let state = client.backoff
        guard !state.holds(at: now).isEmpty else { return }
        do {
            try storage.prepare()
            try BackoffFile.write(state, to: storage.backoffPath, now: now, isContended: true)
        } catch {
            // The server will ask again.
            logger.warning("how long the server asked not to be asked could not be stored: \(error)")
        }
    }

    /// Tells telemetry about one outcome.
    ///
    /// - Parameters:
    ///   - source: `settings-sync`, `settings-changes-monitoring`, or `bucket/collection`.
    ///   - timestamp: the collection's timestamp afterwards; `nil` if the attempt failed.
    ///   - age: the time between the last change on the server and its answer.
    ///   - began: when the attempt began.
    func report(
        _ source: String, _ status: UptakeEvent.Status, _ trigger: UptakeEvent.Trigger, timestamp: Timestamp? = nil,
        age: Duration? = nil, since began: Timestamp, savedBytes: Int? = nil, error: (any Error)? = nil
    ) {
        if status != .syncBrokenError, status != .cleanupError {
            let uptake = CollectionAccess.Uptake(status: status, httpStatus: error.flatMap(HTTPError.status))
            state.withLock { $0.uptake[source] = uptake }
        }
        telemetry?.reportUptake(
            UptakeEvent(
                source: source, status: status, trigger: trigger, timestamp: timestamp, age: age,
                duration: now.elapsed(since: began), savedBytes: savedBytes,
                errorDescription: error.map { "\($0)" }))
    }

    /// The last outcome that was reported of a source.
    func lastUptake(of source: String) -> CollectionAccess.Uptake? { state.withLock { $0.uptake[source] } }

    /// Removes, once in a session, what killed writers have left in the storage directory.
    func tidyUp() {
        let isFirst = state.withLock { state in
            defer { state.hasTidied = true }
            return !state.hasTidied
        }
        // A file that cannot be removed takes room, but does no other harm.
        if isFirst { try? storage.removeLeftovers(now: now) }
    }

    /// - Parameter body: called whenever the server has answered a sync.
    func onAnswer(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onAnswer = body } }

    /// Tells ``onAnswer(_:)``'s closure that the server has answered a sync.
    func recordAnswer() {
        failures.recordAnswer()
        state.withLock { $0.onAnswer }?()
    }

    /// Notes that nothing of the server's state at the monitor's timestamp is missing here. That timestamp is not
    /// signed.
    func recordSynced(_ collections: [CollectionID], upTo timestamp: Timestamp) {
        state.withLock { $0.synced = (Set(collections), timestamp) }
    }

    /// The monitor's timestamp up to which these collections were last synced together.
    func seen(of collections: Set<CollectionID>) -> Timestamp? {
        state.withLock { state in
            state.synced.flatMap { collections.isSubset(of: $0.collections) ? $0.timestamp : nil }
        }
    }

    /// Where announcements come from, and the name under which failed connections are remembered; `nil` if no
    /// connection is made.
    var updateChannel: (name: String, source: any UpdateSource)? {
        guard config.network != .never else { return nil }
        if let source = config.updates.source {
            return ("\(type(of: source)) of \((try? server.get())?.withoutVersion ?? "")", source)
        }
        switch config.updates.channel {
        case .off: return nil
        case .eventStream(let url): return (url, EventStreamSource(session: self, url: url))
        case .automatic:
            guard let server = try? server.get(),
                ![ServerURL.prod, .stage, .dev].contains(where: { $0.isSameServer(as: server) })
            else { return nil }
            return ("\(server.updates)", EventStreamSource(session: self, url: nil))
        }
    }

    /// Runs `body` while no other process or session writes to the storage directory.
    ///
    /// Waits for others up to ``Limits/storageLockSeconds``.
    func withStorageLock<Value>(_ body: () throws -> Value) async throws -> Value {
        try storage.prepare()
        let pause = Duration.milliseconds(20)
        for _ in 0...(limits.storageLockSeconds * 50) {
            if let lock = try DirectoryLock(storage.path) {
                defer { withExtendedLifetime(lock) {} }
                return try body()
            }
            // Other processes hold the lock in real time, whatever the configured clock says.
            try await WorkThreads.sleep(for: pause)
        }
        throw RemoteSettingsError.storageIsBusy(storage.path, seconds: limits.storageLockSeconds)
    }

    /// Like ``withStorageLock(_:)``, without waiting.
    func withFreeStorageLock<Value>(_ body: () throws -> Value) throws -> Value {
        guard let lock = try DirectoryLock(storage.path) else {
            throw RemoteSettingsError.storageIsBusy(storage.path, seconds: 0)
        }
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }
}

extension RemoteSettingsError {
    static func storageIsBusy(_ path: String, seconds: Int) -> RemoteSettingsError {
        .storage(
            reason: "\(path): another process has been writing to the storage directory for more than \(seconds) s; "
                + "try again later")
    }
}

/// A server without the version of its protocol. `/v1` and `/v2` of one server have the same collections.
struct ServerIdentity: Hashable, CustomStringConvertible {
    let description: String

    init(_ server: ServerURL) {
        description = server.withoutVersion
    }

    /// - Parameter text: a server's URL as a lock or a cache file states it.
    init(_ text: String) {
        description = (try? ServerURL(text, allowPlainHTTP: true))?.withoutVersion ?? text
    }
}
