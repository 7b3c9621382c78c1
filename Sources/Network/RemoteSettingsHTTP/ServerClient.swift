import RemoteSettingsModel

/// A client for a Remote Settings server (protocol v1 and v2), over any ``HTTPTransport``.
///
/// One object is for one run, such as a refresh or a sync. The run begins when the object is created; ``startingRun()``
/// creates the client for the next run. Several tasks may use it at the same time, and it holds no lock while it waits.
/// It follows redirects, and repeats requests that may succeed a moment later. It limits the size of every body, and
/// the time of every document, download and run.
///
/// It honors `Backoff` and `Retry-After`. While a backoff is in effect, requests to that origin fail with
/// ``Failure/backoff(until:seconds:)`` without using the network. The client itself waits only for a backoff
/// of at most ``patienceSeconds``. A backoff in an error response is in effect immediately. A backoff in a successful
/// response delays only the next run, because otherwise a run would never finish with a server that always sends one.
/// The current run continues at a slower pace (``gentlePauseMilliseconds``).
///
/// It neither parses nor verifies the documents that it returns.
package final class ServerClient: Sendable {
    package let server: ServerURL
    package let limits: Limits
    let transport: any HTTPTransport
    let userAgent: UserAgent
    let environment: HTTPEnvironment
    let retryPauses: RetryPauses
    /// The additional headers of requests for changesets.
    private let preferences: [HTTPHeaders.Field]
    let onEvent: @Sendable (HTTPEvent) -> Void
    let shared: Shared
    let runDeadline: Deadline
    /// The backoff periods from earlier runs.
    let holdsAtStart: BackoffState
    /// The origins that sent `Backoff` in this run, and the uptime from which each accepts the next request.
    let pace = Mutex<[String: Duration]>([:])

    /// The state that a client shares with the clients of later runs.
    final class Shared: Sendable {
        struct State {
            /// All backoff periods.
            var backoff: BackoffState
            /// The backoff periods from error responses. They also stop runs that are in progress.
            var refusals = BackoffState()
            var metrics = HTTPMetrics()
            var alerts: Set<String> = []
            /// The origins whose last response came over a connection that carries several requests at the same time.
            var multiplexed: Set<String> = []
        }

        private let state: Mutex<State>

        init(_ state: State) { self.state = Mutex(state) }

        func withLock<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }
    }

    /// Creates the client of the first run.
    ///
    /// - Parameters:
    ///   - backoff: the ``backoff`` of the previous run.
    ///   - prefersReceivedMetadata: whether to ask mirrors for the metadata that they received
    ///     (`Changeset.mirroredMetadata`).
    ///   - onEvent: called for each event, from any task. It must not block.
    package convenience init(
        server: ServerURL, transport: any HTTPTransport, userAgent: UserAgent, limits: Limits = Limits(),
        environment: HTTPEnvironment = .system,
        retryPauses: RetryPauses = RetryPauses(first: .milliseconds(500), longest: .seconds(10)),
        backoff: BackoffState = BackoffState(), prefersReceivedMetadata: Bool = false,
        onEvent: @escaping @Sendable (HTTPEvent) -> Void = { _ in }
    ) {
        self.init(
            server: server, transport: transport, userAgent: userAgent, limits: limits, environment: environment,
            retryPauses: retryPauses,
            preferences: prefersReceivedMetadata ? [.init("Prefer", Changeset.mirroredMetadata)] : [],
            shared: Shared(.init(backoff: backoff)), onEvent: onEvent)
    }

    private init(
        server: ServerURL, transport: any HTTPTransport, userAgent: UserAgent, limits: Limits,
        environment: HTTPEnvironment, retryPauses: RetryPauses, preferences: [HTTPHeaders.Field], shared: Shared,
        onEvent: @escaping @Sendable (HTTPEvent) -> Void
    ) {
        self.server = server
        self.transport = transport
        self.userAgent = userAgent
        self.limits = limits
        self.environment = environment
        self.retryPauses = retryPauses
        self.preferences = preferences
        self.onEvent = onEvent
        self.shared = shared
        runDeadline = Deadline(.run, seconds: limits.runSeconds, from: environment.uptime())
        holdsAtStart = shared.withLock { $0.backoff }
    }

    /// Returns a client for the next run.
    ///
    /// It shares the backoff periods, the metrics and the alerts with this client, and honors all backoff periods that
    /// are known now. Its time limit (`Limits.runSeconds`) starts now.
    package func startingRun() -> ServerClient {
        ServerClient(
            server: server, transport: transport, userAgent: userAgent, limits: limits, environment: environment,
            retryPauses: retryPauses, preferences: preferences, shared: shared, onEvent: onEvent)
    }

    /// The backoff periods that servers have requested so far, for the next run.
    package var backoff: BackoffState { shared.withLock { $0.backoff } }

    /// The request counts so far.
    package var metrics: HTTPMetrics { shared.withLock { $0.metrics } }

    /// Returns whether the last response from the URL's origin came over a connection that carries several requests at
    /// the same time (HTTP/2).
    package func isMultiplexed(_ url: HTTPURL) -> Bool {
        shared.withLock { !$0.multiplexed.isEmpty && $0.multiplexed.contains(url.origin) }
    }

    /// Fetches the server's root document, whose `capabilities.attachments.base_url` is used for an ``AttachmentsURL``.
    package func rootDocument() async throws(Failure) -> ServerDocument {
        try await document(server.root, limit: limits.rootDocumentBytes).document
    }

    /// Fetches the monitor's changeset: every collection with the time of its last change, newest first.
    ///
    /// - Parameters:
    ///   - expected: the timestamp from a push message; `nil` to send 0.
    ///   - since: the monitor's timestamp at the last poll; `nil` to request all entries.
    package func monitor(expected: Timestamp? = nil, since: Timestamp? = nil) async throws(Failure) -> ChangesetAnswer {
        do throws(Failure) {
            return try await changeset(since: since, limit: limits.monitorBytes) { quoted in
                server.monitor(expected: expected, since: since, quoted: quoted)
            }
        } catch {
            var error = error
            if error.status == 404 { error.remedy = "check the server's URL" }
            throw error
        }
    }

    /// Fetches a collection's changeset.
    ///
    /// - Parameters:
    ///   - expected: the collection's timestamp in the monitor; `nil` to send 0, for which a cache may return an
    ///     outdated response.
    ///   - since: the timestamp of the local state; `nil` to request all records.
    func changeset(
        _ collection: CollectionID, expected: Timestamp? = nil, since: Timestamp? = nil
    ) async throws(Failure) -> ChangesetAnswer {
        try await changeset(since: since, limit: limits.changesetBytes) { quoted in
            server.changeset(collection, expected: expected, since: since, quoted: quoted)
        }
    }

    /// Fetches a certificate chain (PEM).
    ///
    /// Error messages do not quote the response, because an `x5u` may lead to any host, whose responses must not appear
    /// in logs.
    ///
    /// - Parameter x5u: the URL in a signature, as served. It may be relative to the server's root. The URL is not
    ///   verified, so plain `http` is refused, even for loopback addresses, unless the server's own URL is plain
    ///   `http`.
    func chain(x5u: String) async throws(Failure) -> ServerDocument {
        let url = try server.root.resolving(x5u)
        try server.checkReference(url)
        do {
            return try await document(url, limit: limits.chainBytes).document
        } catch {
            guard let status = error.status else { throw error }
            throw Failure(error.place, .status(status, body: ""))
        }
    }

    private func changeset(
        since: Timestamp?, limit: Int, url: (_ quoted: Bool) -> HTTPURL
    ) async throws(Failure) -> ChangesetAnswer {
        do {
            return try await changeset(url(false), since: since, limit: limit)
        } catch {
            // Some servers accept `_since` only in double quotes. Without the quotes, old servers respond with 400 and
            // others with 422.
            guard let status = error.status, status == 400 || status == 422, since != nil else { throw error }
        }
        return try await changeset(url(true), since: since, limit: limit)
    }

    private func changeset(_ url: HTTPURL, since: Timestamp?, limit: Int) async throws(Failure) -> ChangesetAnswer {
        let (status, document) = try await document(url, preferences, limit: limit)
        if status == 204 { return .nothing }
        guard let since, let answered = document.url.queryValue("_since") else {
            return .changes(document, answersSince: false)
        }
        guard answered == since.description || answered == "\"\(since)\"" else {
            throw Failure(
                document.url, .badRedirect("it changes _since, so its response does not apply to the local state"))
        }
        return .changes(document, answersSince: true)
    }
}

/// An event during a request, for display to people.
package enum HTTPEvent: Sendable, Hashable {
    /// The server's `Alert` header (JSON according to the protocol), usually about a deprecation. Each text is reported
    /// once.
    case alert(String, url: HTTPURL)
    /// The request failed and will be repeated after a pause. `attempt` counts from 1.
    case retry(Failure, attempt: Int, after: Duration)
    case redirect(from: HTTPURL, to: HTTPURL)
    /// The response did not contain the right file, so the client requests the whole file in another way.
    case wholeFile(Failure)
    /// The server asked clients to send no requests until this backoff expires.
    case hold(BackoffState.Hold)
}

/// Counts of the requests that a client has sent so far.
package struct HTTPMetrics: Sendable, Hashable {
    /// The number of requests sent, including redirects and repeated requests.
    package var requests = 0
    /// The number of requests that repeated a failed one.
    var retries = 0
    /// The number of body bytes received, after decompression.
    package var bodyBytes = 0

    init() {}
}
