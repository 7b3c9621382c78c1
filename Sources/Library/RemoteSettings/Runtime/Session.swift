import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import TargetFilter

#if canImport(Darwin)
import URLSessionTransport
#else
import CurlTransport
#endif

/// A service's current configuration, with the objects derived from it, such as the trust policy, the filter context
/// and the HTTP client.
///
/// `updateConfig` closes a session and creates another one. Creating one does no I/O.
package final class Session: Sendable {
    private struct State {
        var choice: SnapshotChoice?
        var client: ServerClient?
        var telemetry: (any RemoteSettingsTelemetry)?
        var context: RemoteSettingsContext?
        var filterContext: FilterContext
        var isClosed = false
        /// Whether unused files have already been removed.
        var hasTidied = false
        /// Whether it was already reported that the storage directory cannot be written to.
        var hasReportedStorage = false
        /// A closure that is called whenever the server has answered a sync.
        var onAnswer: (@Sendable () -> Void)?
        /// The collections that this process has synced together, and the server's timestamp that they are up to date
        /// with.
        var synced: (collections: Set<CollectionID>, timestamp: Timestamp)?
        /// The service that this session belongs to.
        weak var service: RemoteSettingsService?
    }

    package let config: RemoteSettingsConfig
    package let storage: StorageDirectory
    let server: Result<ServerURL, RemoteSettingsError>
    /// The problem with the configuration, if any. No request is sent to the server in that case.
    let configurationProblem: RemoteSettingsError?
    package let serverIdentity: ServerIdentity
    package let trust: TrustPolicy
    let changes: ChangeHub
    /// The record of how well the app has started with each state.
    package let trials: StateTrials
    package let logger: ServiceLog
    /// The base URL of the server's attachments. It is requested when first needed, and again after a failed download.
    let attachmentsURL = AttachmentsURLSource()
    let syncs = SharedWork<CollectionID, CollectionSyncResult, Never>()
    /// The syncs of the whole service. There is only one key, because a service has one list of collections.
    let serviceSyncs = SharedWork<Bool, Result<[CollectionSyncResult], any Error>, Never>()
    /// The syncs that failed recently.
    let failures: RecentFailures
    /// The current downloads, by the path of the file they write.
    let downloads = SharedWork<String, Void, AttachmentProgress>()
    private let state: Mutex<State>
    /// What this process knows of its syncs, of which the index may have an earlier state.
    let notes = Mutex(SyncNotes())

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
        let server = config.server ?? .production
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
        logger = ServiceLog(config.log)
        state = Mutex(
            State(
                telemetry: config.telemetry ?? telemetry, context: config.appContext,
                filterContext: config.appContext?.filterContext ?? .empty))
        if let configurationProblem { logger.error("\(configurationProblem)") }
        for override in config.overrides { logger.warning("\(override)") }
    }

    var appContext: RemoteSettingsContext? { state.withLock { $0.context } }
    package var filterContext: FilterContext { state.withLock { $0.filterContext } }

    /// Replaces the app's context.
    ///
    /// - Returns: the context of filters before the change.
    func use(_ context: RemoteSettingsContext?) -> FilterContext {
        state.withLock { state in
            let old = state.filterContext
            (state.context, state.filterContext) = (context, context?.filterContext ?? .empty)
            return old
        }
    }

    /// The object that chooses and verifies snapshots. The first access reads the lock files of packaged sources.
    var choice: SnapshotChoice {
        if let known = state.withLock({ $0.choice }) { return known }
        let choice = SnapshotChoice(
            server: serverIdentity, verifier: SnapshotVerifier(trust, checksRoots: false), storage: storage,
            packaged: PackagedLocks(config.packaged), isPackagedOnly: config.isPackagedOnly, logger: logger,
            now: config.environment.now)
        return state.withLock { state in
            if let first = state.choice { return first }
            state.choice = choice
            return choice
        }
    }

    /// Returns the key of a collection's entry in the index.
    func key(of id: CollectionID) -> String { StorageIndex.key(of: id, in: serverIdentity.description) }

    /// Returns the subject of the trial of a collection's synced states.
    func subject(of id: CollectionID) -> StateTrials.Subject { .init(key: key(of: id), isActivated: false) }

    /// Returns the state before the current one, verified; `nil` if there is no trusted one. Does I/O.
    func previous(of id: CollectionID, isKnownSigned: Bool) -> Snapshot? {
        storage.index()[key(of: id)].synced.previous
            .flatMap { try? choice.snapshot(of: $0, id, isKnownSigned: isKnownSigned) }
    }

    /// Replaces the current state in a slot. The old one is kept if the app may have to roll back to it
    /// (``RemoteSettingsConfig/usesSafeStart``).
    ///
    /// - Parameters:
    ///   - keepsOld: whether some of the old state's attachments may still be useful.
    func replace(
        _ slot: inout StorageIndex.Slot, by new: StoredState, _ subject: StateTrials.Subject, keepsOld: Bool = false
    ) {
        if let old = slot.current, old.state != new.state {
            if !trials.isSafeStart {
                slot.previous = keepsOld ? old : nil
            } else if trials.keeps(old, of: subject, before: slot.previous) {
                slot.previous = old
            }
        }
        slot.current = new
    }

    /// Returns whether both sessions trust the same snapshots of the same server.
    func trusts(likewise other: Session) -> Bool {
        guard (try? server.get()) != nil, (try? other.server.get()) != nil else { return false }
        return serverIdentity == other.serverIdentity && trust == other.trust
    }

    /// The service that this session belongs to; `nil` after it was released.
    var service: RemoteSettingsService? {
        get { state.withLock { $0.service } }
        set { state.withLock { $0.service = newValue } }
    }

    /// The receiver of sync outcomes, including those of running syncs.
    var telemetry: (any RemoteSettingsTelemetry)? {
        get { state.withLock { $0.telemetry } }
        set { state.withLock { $0.telemetry = newValue } }
    }

    /// The bucket of collections whose names do not include one.
    var bucketName: String { config.bucketName ?? "main" }

    /// Returns the id of a collection.
    ///
    /// - Parameter name: the collection's name in the configured bucket, or `bucket/name`.
    func collectionID(_ name: String) throws(RemoteSettingsError) -> CollectionID {
        do throws(Failure) {
            let isQualified = name.utf8.contains(UInt8(ascii: "/"))
            let id = isQualified ? try CollectionID(name) : try CollectionID(bucket: bucketName, name: name)
            guard config.isPreview, !id.bucket.hasSuffix("-preview") else { return id }
            return try CollectionID(bucket: "\(id.bucket)-preview", name: id.name)
        } catch {
            throw .invalidName(reason: "\(error)")
        }
    }

    /// Returns a client for one run: a sync, or the download of one or more attachments.
    ///
    /// The first call reads the backoffs that servers requested in earlier processes from the storage directory.
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

    /// Returns an object that fetches and verifies collections in one run.
    func fetcher(_ client: ServerClient) -> CollectionFetcher {
        let chains = ChainStore(client: client, policy: trust, time: now, keeper: ChainDirectory(storage: storage))
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

    /// Cancels running syncs and refuses new ones. Reads still work.
    func close() {
        state.withLock { $0.isClosed = true }
        serviceSyncs.close()
        syncs.close()
    }
}

extension Session {
    /// Stores data for the next process. Waits for other writers. If the data cannot be written, it is kept in memory
    /// for this process.
    @discardableResult
    func remember<Value>(_ change: (inout StorageIndex) -> Value) -> Value? {
        guard let (value, problem) = try? storage.update(waiting: .long, flushing: false, change) else { return nil }
        if let problem { reportStorage(problem) }
        return value
    }

    /// Reports that the storage directory cannot be written to, once per session.
    package func reportStorage(_ problem: any Error) {
        let isFirst = state.withLock { state in
            defer { state.hasReportedStorage = true }
            return !state.hasReportedStorage
        }
        guard isFirst else { return }
        logger.warning(
            "cannot write to the storage directory; keeping data in memory until the process exits: \(problem)")
    }

    /// Stores the current backoffs of servers for the next process.
    func keepBackoff(_ client: ServerClient) {
        let holds = client.backoff.holds(at: now)
        guard !holds.isEmpty, storage.index().backoff.holds(at: now) != holds else { return }
        remember { $0.backoff = BackoffState(holds) }
    }

    /// Reports one outcome to telemetry.
    ///
    /// - Parameters:
    ///   - source: `settings-sync`, `settings-changes-monitoring`, or `bucket/collection`.
    ///   - timestamp: the collection's timestamp afterwards; `nil` if the attempt failed.
    ///   - age: the time between the last change on the server and the server's response.
    ///   - began: the start time of the attempt.
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

    /// Removes files left in the storage directory by killed processes, and reports files of others, once per session.
    func tidyUp() {
        let isFirst = state.withLock { state in
            defer { state.hasTidied = true }
            return !state.hasTidied
        }
        guard isFirst else { return }
        if storage.index().hasRetired {
            logger.notice("\(storage.path): the catalogue of an earlier version is not used any more, and is removed")
        }
        storage.removeAbandonedStates()
        if let name = storage.foreignFile() {
            logger.notice(
                "\(storage.path): the storage directory contains \(VisibleText.quote(name)), which this library did not "
                    + "write and leaves unchanged; give the library a directory of its own")
        }
    }

    /// Sets the closure that is called whenever the server has answered a sync.
    func onAnswer(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onAnswer = body } }

    /// Records that the server has answered a sync, and calls the closure set with ``onAnswer(_:)``.
    func recordAnswer() {
        failures.recordAnswer()
        state.withLock { $0.onAnswer }?()
    }

    /// Records that these collections are up to date with the server's state at the monitor's timestamp. That timestamp
    /// is not signed.
    func recordSynced(_ collections: [CollectionID], upTo timestamp: Timestamp) {
        state.withLock { $0.synced = (Set(collections), timestamp) }
    }

    /// Returns the monitor's timestamp up to which these collections were last synced together.
    func seen(of collections: Set<CollectionID>) -> Timestamp? {
        state.withLock { state in
            state.synced.flatMap { collections.isSubset(of: $0.collections) ? $0.timestamp : nil }
        }
    }

    /// The source of announcements, and the name under which failed connections are stored; `nil` if no connection is
    /// opened.
    var updateChannel: (name: String, source: any UpdateSource)? {
        guard config.network != .never, configurationProblem == nil else { return nil }
        if let source = config.updates.source {
            return ("\(type(of: source)) of \((try? server.get())?.withoutVersion ?? "")", source)
        }
        switch config.updates.channel {
        case .off: return nil
        case .eventStream(let url): return (url, EventStreamSource(session: self, url: url))
        case .automatic:
            guard let server = try? server.get(), server.mozillaRoots == nil else { return nil }
            return ("\(server.updates)", EventStreamSource(session: self, url: nil))
        }
    }

    /// Runs a sync, with a time limit unless `timeout` is `nil`.
    func within<Value: Sendable>(
        _ timeout: Duration?, _ body: @escaping @Sendable () async throws(RemoteSettingsError) -> Value
    ) async throws(RemoteSettingsError) -> Value {
        guard let timeout else { return try await body() }
        let result = await withTaskGroup(of: Result<Value, RemoteSettingsError>?.self) { group in
            group.addTask {
                do throws(RemoteSettingsError) { return .success(try await body()) } catch { return .failure(error) }
            }
            group.addTask { [config] in
                try? await config.environment.sleep(timeout)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        guard let result else {
            throw .timedOut(
                reason: "\((try? server.get()).map { "\($0)" } ?? "the server"): the sync did not finish within "
                    + "\(timeout); try again later")
        }
        return try result.get()
    }
}

/// A server's event stream, read with the service's HTTP transport.
struct EventStreamSource: UpdateSource {
    let session: Session
    /// The URL configured by the app; `nil` for the server's own event stream.
    let url: String?

    func connect() async throws(Failure) -> any UpdateConnection {
        let client: ServerClient
        do throws(RemoteSettingsError) {
            client = try session.startingRun()
        } catch {
            throw Failure("", .init(.usage, "\(error)"))
        }
        defer { session.keepBackoff(client) }
        let url = if let url { try HTTPURL(url) } else { nil as HTTPURL? }
        return Connection(stream: try await client.updates(at: url))
    }

    private struct Connection: UpdateConnection {
        var stream: UpdateStream

        mutating func next() async throws(Failure) -> UpdateMessage? {
            try await stream.next()
        }
    }
}

extension Session {
    /// Throws if the configuration does not allow the network.
    ///
    /// - Parameter id: a collection; `nil` for requests that concern all collections.
    /// - Throws: ``RemoteSettingsError/notAllowed(reason:)``.
    func checkNetwork(_ id: CollectionID? = nil) throws(RemoteSettingsError) {
        switch config.network {
        case .allowed: return
        case .never:
            throw .notAllowed(
                reason:
                    "\(id.map { "\($0)" } ?? "the service"): no request was made, because RemoteSettingsConfig.network "
                    + "is .never")
        case .allowedExcept(let names):
            guard let id, names.contains(where: { (try? collectionID($0)) == id }) else { return }
            throw .notAllowed(
                reason: "\(id): no request was made, because RemoteSettingsConfig.network excludes this collection")
        }
    }
}
