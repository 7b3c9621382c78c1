import RemoteSettingsModel
import Testing

@testable import RemoteSettingsHTTP

/// Returns scripted answers in order, without a network, to test when and how often requests are sent.
final class ScriptedTransport: HTTPTransport {
    enum Step: Sendable {
        case answer(Int, [HTTPHeaders.Field] = [], body: String = "")
        /// An event stream, delivered in pieces.
        case stream([String])
        case failure(Failure)
    }

    private let steps: Mutex<[Step]>
    private let asked = Mutex<[HTTPRequest]>([])

    init(_ steps: [Step]) { self.steps = Mutex(steps) }

    var requests: [HTTPRequest] { asked.withLock { $0 } }

    func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
        asked.withLock { $0.append(request) }
        let step = steps.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        switch step {
        case .answer(let status, let fields, let body):
            let pieces = TableTransport.Pieces(left: body.isEmpty ? [] : [Array(body.utf8)])
            return HTTPResponse(status: status, headers: HTTPHeaders(fields), body: pieces)
        case .stream(let pieces):
            let type = HTTPHeaders.Field("Content-Type", "text/event-stream; charset=utf-8")
            let body = TableTransport.Pieces(left: pieces.map { Array($0.utf8) })
            return HTTPResponse(status: 200, headers: HTTPHeaders([type]), body: body)
        case .failure(let reason): throw Failure(request.url, reason)
        case nil: throw Failure(request.url, .unreachable("the script has ended"))
        }
    }
}

extension ServerClient {
    convenience init(
        _ transport: any HTTPTransport, of server: ServerURL = .production, limits: Limits = Limits(),
        environment: HTTPEnvironment = .system, backoff: BackoffState = BackoffState(),
        onEvent: @escaping @Sendable (HTTPEvent) -> Void = { _ in }
    ) {
        self.init(
            server: server, transport: transport, userAgent: UserAgent(name: "tests", version: "1"), limits: limits,
            environment: environment, backoff: backoff, onEvent: onEvent)
    }
}

/// A clock that advances only by sleeping or `advance(by:)`, and records the duration of each sleep.
final class RecordingClock: Sendable {
    private static let start = Timestamp(milliseconds: 1_795_251_600_000)
    private let state = Mutex<(now: Timestamp, pauses: [Duration])>((start, []))

    var now: Timestamp { state.withLock { $0.now } }
    var pauses: [Duration] { state.withLock { $0.pauses } }

    func advance(by duration: Duration) { state.withLock { $0.now = $0.now.advanced(by: duration) } }

    func environment(random: Double) -> HTTPEnvironment {
        HTTPEnvironment(
            now: { self.now },
            sleep: { duration in
                self.state.withLock {
                    $0.now = $0.now.advanced(by: duration)
                    $0.pauses.append(duration)
                }
            }, random: { random }, uptime: { self.now.elapsed(since: Self.start) })
    }
}

@Suite("Repetition and holds") struct RepetitionTests {
    let clock = RecordingClock()

    func client(
        _ transport: ScriptedTransport, server: ServerURL = .production, random: Double = 0.5,
        backoff: BackoffState = BackoffState(), onEvent: @escaping @Sendable (HTTPEvent) -> Void = { _ in }
    ) -> ServerClient {
        let environment = clock.environment(random: random)
        return ServerClient(transport, of: server, environment: environment, backoff: backoff, onEvent: onEvent)
    }

    func reason(of client: ServerClient) async -> Failure? {
        do {
            _ = try await client.rootDocument()
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func pausesAreJittered() async {
        let transport = ScriptedTransport(
            [.failure(.timeout(.head, seconds: 1)), .failure(.connection("x")), .answer(503), .answer(200)])
        #expect(await reason(of: client(transport, random: 0.5)) == nil)
        #expect(clock.pauses == [.milliseconds(250), .milliseconds(500), .seconds(1)])
    }

    @Test(arguments: [429, 500, 502, 503, 504]) func serverErrorIsRetried(_ status: Int) async {
        let transport = ScriptedTransport(Array(repeating: .answer(status), count: 9))
        #expect(await reason(of: client(transport)) == .status(status, body: ""))
        #expect(transport.requests.count == 4)
    }

    @Test(arguments: [201, 206, 304, 400, 401, 403, 404, 408, 410, 412])
    func otherStatusIsNotRetried(_ status: Int) async {
        let transport = ScriptedTransport([.answer(status)])
        #expect(await reason(of: client(transport)) == .status(status, body: ""))
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [Failure.tls("x"), .notHTTP("x"), .badEncoding("x"), .cancelled])
    func permanentFailureIsNotRetried(_ failure: Failure) async {
        let transport = ScriptedTransport([.failure(failure)])
        #expect(await reason(of: client(transport)) == failure)
        #expect(transport.requests.count == 1)
    }

    @Test func documentShorterThanContentLength() async {
        let answer = ScriptedTransport.Step.answer(200, [.init("Content-Length", "10")], body: "short")
        let transport = ScriptedTransport([answer, answer, answer, answer])
        #expect(await reason(of: client(transport)) == .truncated(expected: 10, received: 5))
        #expect(transport.requests.count == 4)
    }

    @Test(arguments: ["http://firefox.settings.services.mozilla.com/v2/", "//x/", "http://localhost/"])
    func redirectFromHTTPSToHTTPIsRefused(_ location: String) async {
        let transport = ScriptedTransport([.answer(301, [.init("Location", location)]), .answer(200)])
        let why = await reason(of: client(transport))
        if location.hasPrefix("http:") {
            #expect(why == .init(.redirect, "redirects from https to http are not allowed: \(location)"))
            #expect(transport.requests.count == 1)
        } else {
            #expect(why == nil)
            #expect(transport.requests.last?.url.description == "https://x/")
        }
    }

    @Test func redirectFromHTTPToHTTPSIsFollowed() async throws {
        let transport = ScriptedTransport([.answer(308, [.init("Location", "https://other/v1/")]), .answer(200)])
        #expect(await reason(of: client(transport, server: try ServerURL("http://localhost/v1"))) == nil)
        let transport2 = ScriptedTransport([.answer(308, [.init("Location", "http://other/v1/")]), .answer(200)])
        let allowed = try ServerURL("http://host/v1", allowPlainHTTP: true)
        #expect(await reason(of: client(transport2, server: allowed)) == nil)
    }

    @Test func longerOfBackoffAndRetryAfter() async {
        let transport = ScriptedTransport(
            [.answer(200, [.init("Backoff", "30"), .init("Retry-After", "90")]), .answer(200)])
        let client = client(transport)
        #expect(await reason(of: client) == nil)
        let until = clock.now.advanced(by: .seconds(90))
        #expect(client.backoff.holds == [.init(origin: client.server.url.origin, until: until)])
        #expect(await reason(of: client.startingRun()) == .backoff(until: until, seconds: 90))
        #expect(transport.requests.count == 1)
    }

    /// A backoff with a successful answer only slows down the current run. Otherwise a server that sends one with every
    /// answer would never get a second request.
    @Test(arguments: ["Backoff", "Retry-After"]) func backoffSlowsTheRunUnderWay(_ header: String) async {
        let answer = ScriptedTransport.Step.answer(200, [.init(header, "10")])
        let transport = ScriptedTransport([answer, answer, answer, answer])
        let client = client(transport)
        for _ in 0..<3 { #expect(await reason(of: client) == nil) }
        #expect(transport.requests.count == 3)
        let pause = Duration.milliseconds(ServerClient.gentlePauseMilliseconds)
        #expect(clock.pauses == [pause, pause])
        let until = clock.now.advanced(by: .seconds(10))
        let next = client.startingRun()
        #expect(await reason(of: next) == .backoff(until: until, seconds: 10))
        clock.advance(by: .seconds(11))
        #expect(await reason(of: next) == nil)
        #expect(transport.requests.count == 4)
    }

    @Test func backoffSlowsParallelRequests() async {
        let answer = ScriptedTransport.Step.answer(200, [.init("Backoff", "10")])
        let transport = ScriptedTransport(Array(repeating: answer, count: 9))
        let client = client(transport)
        let start = clock.now
        #expect(await reason(of: client) == nil)
        await withTaskGroup { group in
            for _ in 0..<8 { group.addTask { #expect(await reason(of: client) == nil) } }
        }
        let pause = Duration.milliseconds(ServerClient.gentlePauseMilliseconds)
        // Each request has its own start time; how many have to sleep until then is random.
        #expect(clock.now.elapsed(since: start) >= pause * 8)
    }

    @Test func refusalWithRetryAfterStopsAllRuns() async {
        let transport = ScriptedTransport([.answer(503, [.init("Retry-After", "60")])])
        let client = client(transport)
        let other = client.startingRun()
        let until = clock.now.advanced(by: .seconds(60))
        for held in [client, other, client.startingRun()] {
            #expect(await reason(of: held) == .backoff(until: until, seconds: 60))
        }
        #expect(transport.requests.count == 1)
    }

    @Test func retryAfterOnNotFoundStopsTheRun() async {
        let transport = ScriptedTransport([.answer(404, [.init("Retry-After", "60")])])
        let client = client(transport)
        #expect(await reason(of: client) == .status(404, body: ""))
        #expect(await reason(of: client) == .backoff(until: clock.now.advanced(by: .seconds(60)), seconds: 60))
        #expect(transport.requests.count == 1)
    }

    @Test func backoffIsBoundedToOneDay() async {
        for value in ["999999999", "99999999999999999999999", "Fri, 01 Jan 9999 00:00:00 GMT"] {
            let transport = ScriptedTransport([.answer(503, [.init("Retry-After", value)])])
            #expect(
                await reason(of: client(transport))
                    == .backoff(until: clock.now.advanced(by: .seconds(86_400)), seconds: 86_400))
        }
    }

    @Test(arguments: ["0", "-5", "soon", "", "1.5", "Fri, 01 Jan 1999 00:00:00 GMT"])
    func invalidBackoffValuesAreIgnored(_ value: String) async {
        let transport = ScriptedTransport(
            [.answer(200, [.init("Retry-After", value), .init("Backoff", value)]), .answer(200)])
        let client = client(transport)
        #expect(await reason(of: client) == nil)
        #expect(client.backoff.holds.isEmpty)
        #expect(await reason(of: client) == nil)
    }

    @Test func retryAfterDateUsesServerClock() async {
        let transport = ScriptedTransport([
            .answer(
                503,
                [.init("Date", "Fri, 01 Jan 2038 00:00:00 GMT"), .init("Retry-After", "Fri, 01 Jan 2038 00:01:40 GMT")])
        ])
        #expect(
            await reason(of: client(transport)) == .backoff(until: clock.now.advanced(by: .seconds(100)), seconds: 100))
    }

    @Test(arguments: [("https://cdn.example", 99), (ServerURL.production.url.origin, 9_000_000)])
    func backoffOfOtherOriginOrClockIsIgnored(origin: String, seconds: Int) async {
        let held = BackoffState([.init(origin: origin, until: clock.now.advanced(by: .seconds(seconds)))])
        #expect(await reason(of: client(ScriptedTransport([.answer(200)]), backoff: held)) == nil)
    }

    @Test func permanentErrorWithBackoffIsReported() async {
        let transport = ScriptedTransport([.answer(404, [.init("Backoff", "60")], body: "no such thing")])
        let client = client(transport)
        #expect(await reason(of: client) == .status(404, body: "no such thing"))
        #expect(client.backoff.holds.count == 1)
    }

    @Test func backoffStateMergesHolds() {
        let early = Timestamp(milliseconds: 1000)
        let late = Timestamp(milliseconds: 2000)
        let state = BackoffState([
            .init(origin: "b", until: late), .init(origin: "a", until: early), .init(origin: "b", until: early),
        ])
        #expect(state.holds == [.init(origin: "a", until: early), .init(origin: "b", until: late)])
        #expect(state.holds(at: early) == [.init(origin: "b", until: late)])
        #expect(BackoffState(state.holds) == state)
        // At most 256 origins are stored: those with the longest backoffs.
        let many = (0..<1000).map { number in
            BackoffState.Hold(origin: "https://\(number).example", until: Timestamp(milliseconds: UInt64(number)))
        }
        let kept = BackoffState(many.reversed()).holds
        #expect(kept.count == 256 && Set(kept) == Set(many.suffix(256)))
    }

    @Test func eachRetryIsReported() async {
        let events = Mutex<[HTTPEvent]>([])
        let transport = ScriptedTransport([.failure(.unreachable("x")), .answer(200)])
        _ = await reason(of: client(transport, random: 0) { event in events.withLock { $0.append(event) } })
        let error = Failure(ServerURL.production.root, .unreachable("x"))
        #expect(events.withLock { $0 } == [.retry(error, attempt: 1, after: .zero)])
    }

    /// The failures for which every command exits with the code for an unreachable server.
    @Test func failuresOfUnavailableServers() {
        let cases: [(Failure, Bool)] = [
            (.unreachable(""), true), (.tls(""), true), (.connection(""), true), (.notHTTP(""), true),
            (.timeout(.body, seconds: 1), true), (.timeout(.answer, seconds: 1), true),
            (.tooSlow(leastBytesPerSecond: 1, seconds: 1), true), (.truncated(expected: nil, received: 0), true),
            (.status(500, body: ""), true), (.status(502, body: ""), true), (.status(599, body: ""), true),
            (.status(404, body: ""), false), (.status(429, body: ""), false),
            (.tooLarge(limit: 1), false), (.tooLargeOnTheWire(limit: 1), false), (.badEncoding(""), false),
            (.backoff(until: clock.now, seconds: 1), false), (.cancelled, false), (.insecure, false),
        ]
        for (reason, isUnavailability) in cases {
            let error = Failure("https://h/", reason)
            #expect(error.isUnavailability == isUnavailability, "\(reason)")
            #expect(error.description.hasPrefix("https://h/: "))
        }
    }
}
