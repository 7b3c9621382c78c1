import RemoteSettingsModel

/// A client of a Remote Settings server (protocol v1 and v2), over any ``HTTPTransport``.
///
/// One object serves one run, such as a refresh or a sync. The run begins when the object is created; ``startingRun()``
/// makes the client of the next run. Many tasks may use it at once, and it holds no lock while it waits. It follows
/// redirects, and repeats requests that may succeed a moment later. It limits every body, and the time of every
/// document, download and run.
///
/// It obeys `Backoff` and `Retry-After`. While a hold applies, requests to that origin fail with
/// ``HTTPError/Reason/backoff(until:seconds:)`` without using the network. The client waits only for holds of up to
/// ``patienceSeconds``. A hold that comes with an error applies at once. A hold that comes with a good answer
/// delays the next run. The current run then continues at a slower pace (``gentlePauseMilliseconds``), because it
/// would never finish with a server that always asks for a hold.
///
/// It neither parses nor verifies what it returns.
package final class ServerClient: Sendable {
    package let server: ServerURL
    package let limits: Limits
    let transport: any HTTPTransport
    let userAgent: UserAgent
    let environment: HTTPEnvironment
    let retryPauses: RetryPauses
    /// The headers of requests for changesets.
    private let preferences: [HTTPHeaders.Field]
    let onEvent: @Sendable (HTTPEvent) -> Void
    let shared: Shared
    let runDeadline: Deadline
    /// The holds from earlier runs.
    let holdsAtStart: BackoffState
    /// The origins that asked for a `Backoff` in this run, and the uptime from which each allows requests again.
    let pace = Mutex<[String: Duration]>([:])

    /// The state that a client shares with the clients that it makes for further runs.
    final class Shared: Sendable {
        struct State {
            /// All holds.
            var backoff: BackoffState
            /// The holds that came with errors. They stop current runs.
            var refusals = BackoffState()
            var metrics = HTTPMetrics()
            var alerts: Set<String> = []
            /// The origins whose last answer came over a connection that carries many requests at once.
            var multiplexed: Set<String> = []
        }

        private let state: Mutex<State>

        init(_ state: State) { self.state = Mutex(state) }

        func withLock<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }
    }

    /// Begins the first run.
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

    /// Makes the client of another run.
    ///
    /// It shares the holds, the metrics and the alerts, and obeys all holds that are known now. Its `Limits.runSeconds`
    /// start anew.
    package func startingRun() -> ServerClient {
        ServerClient(
            server: server, transport: transport, userAgent: userAgent, limits: limits, environment: environment,
            retryPauses: retryPauses, preferences: preferences, shared: shared, onEvent: onEvent)
    }

    /// The holds that servers have asked for so far, for the next run.
    package var backoff: BackoffState { shared.withLock { $0.backoff } }

    /// The counts of requests so far.
    package var metrics: HTTPMetrics { shared.withLock { $0.metrics } }

    /// Whether the last answer of the URL's origin came over a connection that carries many requests at once (HTTP/2).
    package func isMultiplexed(_ url: HTTPURL) -> Bool {
        shared.withLock { !$0.multiplexed.isEmpty && $0.multiplexed.contains(url.origin) }
    }

    /// Fetches the server's root document. Its `capabilities.attachments.base_url` makes an ``AttachmentsURL``.
    package func rootDocument() async throws(HTTPError) -> ServerDocument {
        try await document(server.root, limit: limits.rootDocumentBytes).document
    }

    /// Fetches the monitor's changeset: every collection with the time of its last change, newest first.
    ///
    /// - Parameters:
    ///   - expected: the timestamp of a push message; `nil` to send 0.
    ///   - since: the monitor's timestamp at the last poll; `nil` to ask for everything.
    package func monitor(
        expected: Timestamp? = nil, since: Timestamp? = nil
    ) async throws(HTTPError) -> ChangesetAnswer {
        try await changeset(since: since, limit: limits.monitorBytes) { quoted in
            server.monitor(expected: expected, since: since, quoted: quoted)
        }
    }

    /// Fetches a collection's changeset.
    ///
    /// - Parameters:
    ///   - expected: the collection's timestamp in the monitor; `nil` to send 0, for which a cache may have an outdated
    ///     answer.
    ///   - since: the timestamp of the local state; `nil` to ask for everything.
    func changeset(
        _ collection: CollectionID, expected: Timestamp? = nil, since: Timestamp? = nil
    ) async throws(HTTPError) -> ChangesetAnswer {
        try await changeset(since: since, limit: limits.changesetBytes) { quoted in
            server.changeset(collection, expected: expected, since: since, quoted: quoted)
        }
    }

    /// Fetches a certificate chain (PEM).
    ///
    /// Errors do not quote the answer. An `x5u` may lead to any machine, and what that machine answers must not get
    /// into logs.
    ///
    /// - Parameter x5u: the URL in a signature, as served. It may be relative to the server's root. Plain `http` is
    ///   refused, even for addresses of this machine, unless the server's own URL is plain, because an `x5u` is not
    ///   verified.
    func chain(x5u: String) async throws(HTTPError) -> ServerDocument {
        let url = try server.root.resolving(x5u)
        try server.checkReference(url)
        do {
            return try await document(url, limit: limits.chainBytes).document
        } catch {
            guard let status = error.status else { throw error }
            throw HTTPError(error.url, .status(status, body: ""))
        }
    }

    private func changeset(
        since: Timestamp?, limit: Int, url: (_ quoted: Bool) -> HTTPURL
    ) async throws(HTTPError) -> ChangesetAnswer {
        do {
            return try await changeset(url(false), since: since, limit: limit)
        } catch {
            // Some servers accept `_since` only in double quotes. Without them, old ones answer 400 and others 422.
            guard let status = error.status, status == 400 || status == 422, since != nil else { throw error }
        }
        return try await changeset(url(true), since: since, limit: limit)
    }

    private func changeset(
        _ url: HTTPURL, since: Timestamp?, limit: Int
    ) async throws(HTTPError) -> ChangesetAnswer {
        let (status, document) = try await document(url, preferences, limit: limit)
        if status == 204 { return .nothing }
        guard let since, let answered = document.url.queryValue("_since") else {
            return .changes(document, answersSince: false)
        }
        guard answered == since.description || answered == "\"\(since)\"" else {
            throw HTTPError(
                document.url, .badRedirect("it changes _since, so its response does not apply to the local state"))
        }
        return .changes(document, answersSince: true)
    }
}

/// An event during a request, to be shown to people.
package enum HTTPEvent: Sendable, Hashable {
    /// The server's `Alert` header (JSON in the protocol), usually about a deprecation. Each text is reported once.
    case alert(String, url: HTTPURL)
    /// The request failed and will be repeated after a pause. `attempt` counts from 1.
    case retry(HTTPError, attempt: Int, after: Duration)
    case redirect(from: HTTPURL, to: HTTPURL)
    /// The answer's bytes were not the file, so the whole file is requested in another way.
    case wholeFile(HTTPError)
    /// The server asked for no requests until the end of this hold.
    case hold(BackoffState.Hold)
}

/// The counts of a client's requests so far.
package struct HTTPMetrics: Sendable, Hashable {
    /// The number of requests sent, including redirects and repetitions.
    package var requests = 0
    /// The number of requests that repeated a failed one.
    var retries = 0
    /// The number of bytes of bodies received, after decompression.
    package var bodyBytes = 0

    init() {}
}
