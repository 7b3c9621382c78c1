import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
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
package final class Session: Sendable {
    private struct State {
        var choice: SnapshotChoice?
        var client: ServerClient?
        var telemetry: (any RemoteSettingsTelemetry)?
        var isClosed = false
        /// Whether files that nothing reads were already removed.
        var hasTidied = false
        /// Whether it was reported that the storage directory cannot be written.
        var hasReportedStorage = false
        /// Called whenever the server has answered a sync.
        var onAnswer: (@Sendable () -> Void)?
        /// The collections that this process has synced together, and the server's timestamp up to which it has.
        var synced: (collections: Set<CollectionID>, timestamp: Timestamp)?
        /// The service whose configuration this is.
        weak var service: RemoteSettingsService?
    }

    package let config: RemoteSettingsConfig
    package let storage: StorageDirectory
    let server: Result<ServerURL, RemoteSettingsError>
    /// What is wrong with the configuration. Nothing is asked of the server then.
    let configurationProblem: RemoteSettingsError?
    package let serverIdentity: ServerIdentity
    let trust: TrustPolicy
    /// The publisher whose catalogues are read; `nil` if the configuration names none, or a name that no publisher can
    /// have.
    let publisher: PublisherName?
    /// The catalogue in use.
    let catalogue = Mutex(KnownCatalogue())
    let changes: ChangeHub
    /// What the service knows of its states.
    package let trials: StateTrials
    package let filterContext: FilterContext
    package let logger: ServiceLog
    /// The base URL of the server's attachments. The server is asked for it once.
    let attachmentsURL = AttachmentsURLSource()
    let syncs = SharedWork<CollectionID, CollectionSyncResult, Never>()
    /// Syncs of the whole service. There is one key, because a service has one list of collections.
    let serviceSyncs = SharedWork<Bool, Result<[CollectionSyncResult], any Error>, Never>()
    /// The syncs that have just failed.
    let failures: RecentFailures
    /// Downloads by the path of the file that they write.
    let downloads = SharedWork<String, Void, AttachmentProgress>()
    private let state: Mutex<State>

    package var limits: Limits { config.limits.all }
    package var isClosed: Bool { state.withLock { $0.isClosed } }
    package var now: Timestamp { config.environment.now() }

    init(
        _ config: RemoteSettingsConfig, storage: StorageDirectory, changes: ChangeHub, trials: StateTrials,
        telemetry: (any RemoteSettingsTelemetry)? = nil
    ) {
        self.trials = trials
        if config.validate != nil { trials.ask() }
        self.config = config
        self.storage = storage
        self.changes = changes
        let server = config.server ?? .prod
        self.server = Result { () throws(RemoteSettingsError) in
            try server.serverURL(allowPlainHTTP: config.allowsPlainHTTP)
        }
        do throws(RemoteSettingsError) {
            try config.check()
            configurationProblem = nil
        } catch {
            configurationProblem = error
        }
        serverIdentity = (try? self.server.get()).map { ServerIdentity($0) } ?? ServerIdentity("no valid server")
        failures = RecentFailures(config.environment)
        trust = config.trustPolicy
        // A preview is not published yet, so it is in no catalogue.
        publisher = config.isPreview ? nil : config.publisher.flatMap { PublisherName($0) }
        logger = ServiceLog(config.log)
        filterContext = config.appContext?.filterContext ?? .empty
        state = Mutex(State(telemetry: config.telemetry ?? telemetry))
        if let configurationProblem { logger.error("\(configurationProblem)") }
        for override in config.overrides { logger.warning("\(override)") }
    }

    /// Chooses and verifies snapshots. The first call reads the locks of packaged sources.
    var choice: SnapshotChoice {
        if let known = state.withLock({ $0.choice }) { return known }
        let choice = SnapshotChoice(
            server: serverIdentity, verifier: KeptSnapshotVerifier(trust, limits: limits), storage: storage,
            packaged: PackagedLocks(config.packaged, limits: limits), readsCatalogues: publisher != nil,
            isPackagedOnly: config.isPackagedOnly, limits: limits, logger: logger, now: config.environment.now)
        return state.withLock { state in
            if let first = state.choice { return first }
            state.choice = choice
            return choice
        }
    }

    /// A collection's entry in the index.
    func key(of id: CollectionID) -> String {
        let publisher = id == Catalogue.collection ? publisher.map { "\($0)" } : nil
        return StorageIndex.key(of: id, in: publisher ?? serverIdentity.description)
    }

    /// The trial of what syncs have stored of a collection.
    func subject(of id: CollectionID) -> StateTrials.Subject { .init(key: key(of: id), isActivated: false) }

    /// The state before the one in use, verified; `nil` if there is none that can be trusted. Does I/O.
    func previous(of id: CollectionID, isKnownSigned: Bool) -> Snapshot? {
        storage.index()[key(of: id)].synced.previous
            .flatMap { try? choice.snapshot(of: $0, id, isKnownSigned: isKnownSigned) }
    }

    /// Whether the stored catalogue is set aside. The states that were stored with it are not used then.
    func passesOverCatalogue(_ id: CollectionID) -> Bool {
        guard publisher != nil, id != Catalogue.collection else { return false }
        let trial = trials.trial(of: subject(of: Catalogue.collection))
        guard !trial.usesPackagedOnly else { return true }
        return storage.index()[key(of: Catalogue.collection)].synced.current
            .map { trial.refusal(of: $0.state) != nil } ?? false
    }

    /// Puts a state in the place of the current one, which the app can go back to with
    /// ``RemoteSettingsConfig/safeStart``.
    ///
    /// - Parameters:
    ///   - keepsOld: whether some of the old state's attachments may be of use.
    ///   - listed: the state that the catalogue lists which the app can go back to. Nothing else is kept then.
    func replace(
        _ slot: inout StorageIndex.Slot, by new: StoredState, _ subject: StateTrials.Subject, keepsOld: Bool = false,
        _ listed: Catalogue.Entry? = nil
    ) {
        if let old = slot.current, old.state != new.state {
            if !trials.isSafeStart {
                slot.previous = keepsOld ? old : nil
            } else if listed.map({ $0.payload == old.state.payload })
                ?? trials.keeps(old, of: subject, before: slot.previous)
            {
                slot.previous = old
            }
        }
        slot.current = new
    }

    /// Whether both sessions believe the same snapshots of the same server.
    func trusts(likewise other: Session) -> Bool {
        guard (try? server.get()) != nil, (try? other.server.get()) != nil else { return false }
        return serverIdentity == other.serverIdentity && trust == other.trust && publisher == other.publisher
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
        do throws(FormatError) {
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
        if let configurationProblem { throw configurationProblem }
        let server = try server.get()
        let client = ServerClient(
            server: server, transport: config.transport ?? Self.platformTransport(), userAgent: config.userAgentField,
            limits: limits, environment: config.environment,
            backoff: storage.index().backoff,
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
        case .alert(let text, let url): logger.warning("alert from the server \(url.origin): \(text)")
        case .retry(let error, let attempt, _): logger.info("attempt \(attempt) failed, retrying: \(error)")
        case .redirect(let from, let to): logger.debug("\(from) redirects to \(to)")
        case .wholeFile(let error): logger.info("\(error); downloading the whole file")
        case .hold(let hold): logger.info("\(hold.origin) asked clients to wait until \(hold.until.rfc3339)")
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
    /// Remembers something for the next process. Waits for other writers, and never fails: what cannot be written holds
    /// for this process.
    @discardableResult
    func remember<Value>(_ change: (inout StorageIndex) -> Value) -> Value? {
        guard let (value, problem) = try? storage.update(waiting: .long, flushing: false, change) else { return nil }
        if let problem { reportStorage(problem) }
        return value
    }

    /// Reports once that the storage directory cannot be written.
    package func reportStorage(_ problem: any Error) {
        let isFirst = state.withLock { state in
            defer { state.hasReportedStorage = true }
            return !state.hasReportedStorage
        }
        guard isFirst else { return }
        logger.warning(
            "cannot write to the storage directory; keeping data in memory until the process exits: \(problem)")
    }

    /// Stores for the next process which servers asked for no requests, and until when.
    func keepBackoff(_ client: ServerClient) {
        let holds = client.backoff.holds(at: now)
        guard !holds.isEmpty, storage.index().backoff.holds(at: now) != holds else { return }
        remember { $0.backoff = BackoffState(holds) }
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
        telemetry?.reportUptake(
            UptakeEvent(
                source: source, status: status, trigger: trigger, timestamp: timestamp, age: age,
                duration: now.elapsed(since: began), savedBytes: savedBytes,
                errorDescription: error.map { "\($0)" }))
    }

    /// Removes, once in a session, what killed processes and an earlier layout have left in the storage directory.
    func tidyUp() {
        let isFirst = state.withLock { state in
            defer { state.hasTidied = true }
            return !state.hasTidied
        }
        // A file that cannot be removed takes room, but does no other harm.
        guard isFirst else { return }
        storage.removeAbandonedStates()
        try? storage.removeEarlierLayout()
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
        guard config.network != .never, configurationProblem == nil else { return nil }
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
}

/// A server without the version of its protocol. `/v1` and `/v2` of one server have the same collections.
package struct ServerIdentity: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// Whether it names a server. An import may name something else, which belongs to every server.
    let isServer: Bool

    init(_ server: ServerURL) {
        (description, isServer) = (server.withoutVersion, true)
    }

    /// - Parameter text: a server's URL as a lock or a cache file states it.
    init(_ text: String) {
        let server = try? ServerURL(text, allowPlainHTTP: true)
        (description, isServer) = (server?.withoutVersion ?? text, server != nil)
    }
}
