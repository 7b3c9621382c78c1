import DumpsRefresh
import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

/// A server's answers, one for each connection, on a clock that moves only while code waits.
private final class ScriptedServer: HTTPTransport {
    enum Step: Sendable {
        case bytes(String)
        case pause(Duration)
        case failure(HTTPError.Reason)
    }

    enum Answer: Sendable {
        case unreachable
        case status(Int, [(String, String)] = [])
        case stream([Step])
    }

    struct State {
        var now = Timestamp(milliseconds: 1_800_000_000_000)
        var answers: [Answer]
        var requests: [HTTPRequest] = []
    }

    let state: Mutex<State>
    /// The clock ends the test if a wait goes past it.
    private let end: Timestamp

    init(_ answers: [Answer], within duration: Duration = .seconds(86_400)) {
        let state = State(answers: answers)
        end = state.now.advanced(by: duration)
        self.state = Mutex(state)
    }

    func environment(random: Double) -> HTTPEnvironment {
        let start = state.withLock { $0.now }
        return HTTPEnvironment(
            now: { self.state.withLock { $0.now } },
            sleep: { duration in
                let now = self.state.withLock { state in
                    state.now = state.now.advanced(by: duration)
                    return state.now
                }
                guard now < self.end else { throw CancellationError() }
            },
            random: { random },
            uptime: { self.state.withLock { $0.now.elapsed(since: start) } })
    }

    func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
        }
        switch answer {
        case .unreachable: throw HTTPError(request.url, .unreachable("nothing answers"))
        case .status(let status, let headers):
            let fields = HTTPHeaders(headers.map { .init($0.0, $0.1) })
            return HTTPResponse(status: status, headers: fields, body: Body(server: self, url: request.url, left: []))
        case .stream(let steps):
            let type = HTTPHeaders([.init("Content-Type", "text/event-stream")])
            return HTTPResponse(status: 200, headers: type, body: Body(server: self, url: request.url, left: steps))
        }
    }

    struct Body: HTTPBody {
        let server: ScriptedServer
        let url: HTTPURL
        var left: [Step]

        mutating func next() async throws(HTTPError) -> [UInt8]? {
            while !left.isEmpty {
                switch left.removeFirst() {
                case .bytes(let text): return Array(text.utf8)
                case .pause(let duration):
                    server.state.withLock { $0.now = $0.now.advanced(by: duration) }
                case .failure(let reason): throw HTTPError(url, reason)
                }
            }
            return nil
        }
    }
}

struct UpdateWatchTests {
    /// What is reported until the clock's end.
    private func notices(of server: ScriptedServer, random: Double = 1) async throws(HTTPError) -> [UpdateWatch.Notice]
    {
        var limits = Limits()
        limits.updateIdleSeconds = UpdateWatch.idleSeconds
        let environment = server.environment(random: random)
        let client = ServerClient(
            server: try ServerURL("https://h.test/v2"), transport: server,
            userAgent: UserAgent(name: "tests", version: "1"), limits: limits, environment: environment)
        let found = Mutex<[UpdateWatch.Notice]>([])
        try await UpdateWatch(client: client, environment: environment).run { notice in
            found.withLock { $0.append(notice) }
        }
        return found.withLock { $0 }
    }

    private func waits(_ notices: [UpdateWatch.Notice]) -> [Duration] {
        notices.compactMap { notice in
            if case .disconnected(_, let wait) = notice { wait } else { nil }
        }
    }

    @Test func waitsDoubleToFiveMinutes() async throws {
        let server = ScriptedServer([.unreachable], within: .seconds(1500))
        let waits = waits(try await notices(of: server))
        #expect(Array(waits.prefix(11)) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map { .seconds($0) })
    }

    /// Each of them would be a line in a log, or a command to run, for as long as the server likes.
    @Test(arguments: [": hi\n", "data: {}\n\n", "data: {\"timestamp\":7}\n\n"])
    func aFloodEndsTheConnection(message: String) async throws {
        // Comments that arrive at once count as one heartbeat.
        let flood = Array(repeating: ScriptedServer.Step.bytes(message), count: 700)
        let server = ScriptedServer([.stream(flood)], within: .seconds(250))
        let notices = try await notices(of: server)
        #expect(Array(waits(notices).prefix(8)) == [1, 2, 4, 8, 16, 32, 64, 128].map { .seconds($0) })
        #expect(notices.count <= 8 * 602)
        guard case .disconnected(let error, _)? = notices.last else { return #expect(Bool(false)) }
        #expect("\(try #require(error))".contains("more than 600 messages within a minute"))
    }

    @Test func manyMessagesInALongTimeAreNoFlood() async throws {
        let steps = (0..<20).flatMap { _ in
            Array(repeating: ScriptedServer.Step.bytes(": hi\n"), count: 500) + [.pause(.seconds(61))]
        }
        let server = ScriptedServer([.stream(steps)], within: .seconds(1000))
        guard case .disconnected(nil, _)? = try await notices(of: server).dropFirst().first else {
            return #expect(Bool(false))
        }
    }

    @Test func waitsAreJittered() async throws {
        let server = ScriptedServer([.unreachable], within: .seconds(300))
        let waits = waits(try await notices(of: server, random: 0.25))
        #expect(Array(waits.prefix(4)) == [250, 500, 1000, 2000].map { .milliseconds($0) })
    }

    @Test func aConnectionOfAMinuteIsASuccess() async throws {
        let short = ScriptedServer.Answer.stream([.bytes(": a\n"), .pause(.seconds(59))])
        let long = ScriptedServer.Answer.stream([.bytes(": a\n"), .pause(.seconds(60))])
        let server = ScriptedServer([short, short, short, long, short], within: .seconds(400))
        let waits = waits(try await notices(of: server))
        #expect(Array(waits.prefix(5)) == [1, 2, 4, 1, 2].map { .seconds($0) })
    }

    @Test func theServersOwnTimeIsTheFirstWait() async throws {
        let asks = ScriptedServer.Answer.stream([.bytes("retry: 5000\n\n")])
        let server = ScriptedServer([asks, .unreachable], within: .seconds(100))
        #expect(Array(waits(try await notices(of: server)).prefix(3)) == [5, 10, 20].map { .seconds($0) })
    }

    @Test func retryAfterIsObeyed() async throws {
        let busy = ScriptedServer.Answer.status(503, [("Retry-After", "1200")])
        let server = ScriptedServer([busy, .stream([.bytes("data: {\"timestamp\":7}\n\n")])], within: .seconds(1300))
        let notices = try await notices(of: server)
        #expect(waits(notices).first == .seconds(1200))
        #expect(notices.contains(.event(.update(timestamp: Timestamp(milliseconds: 7), collections: nil))))
    }

    @Test func pausesAreObeyedToTheSecond() async throws {
        let pause = ScriptedServer.Answer.stream([.bytes("event: pause\ndata: {\"retry_after\":77}\n\n")])
        let none = ScriptedServer.Answer.stream([.bytes("event: pause\ndata: {\"retry_after\":0}\n\n")])
        let off = ScriptedServer.Answer.stream([.bytes("event: pause\ndata: {\"disabled\":true}\n\n")])
        let server = ScriptedServer([pause, none, none, off], within: .seconds(20_000))
        let waits = waits(try await notices(of: server))
        // Not even a server that asks for none, again and again, is asked without a wait.
        #expect(Array(waits.prefix(4)) == [77, 2, 4, 14_400].map { .seconds($0) })
    }

    @Test func aSilentConnectionIsGivenUpAfterThreeHeartbeats() async throws {
        let silent = ScriptedServer.Answer.stream([.bytes(": a\n"), .failure(.timeout(.body, seconds: 45))])
        let server = ScriptedServer([silent], within: .seconds(10))
        let notices = try await notices(of: server)
        #expect(server.state.withLock { $0.requests.first?.idleTimeout } == .seconds(45))
        #expect(waits(notices).first == .seconds(1))
    }

    @Test(arguments: [404, 403, 405, 204])
    func aServerWithoutTheChannelIsAnError(status: Int) async throws {
        await #expect(throws: HTTPError.self) { try await notices(of: ScriptedServer([.status(status)])) }
    }

    @Test func afterTheFirstConnectionEverythingIsTriedAgain() async throws {
        let server = ScriptedServer([.stream([.bytes(": a\n")]), .status(404)], within: .seconds(600))
        let notices = try await notices(of: server)
        #expect(waits(notices).count > 5)
    }
}
