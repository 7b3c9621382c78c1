import RemoteSettingsModel
import SnapshotBundle
import Testing

@testable import RemoteSettingsHTTP

private let nothing = SHA256Digest(hashing: Bytes(utf8: ""))

/// Answers every request with status 200 and an endless body. Each piece advances the clock by `every`.
private struct EndlessTransport: HTTPTransport {
    let clock: RecordingClock
    var headers: [HTTPHeaders.Field] = []
    var first: [UInt8] = []
    var piece: [UInt8]
    var every: Duration = .zero

    func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
        HTTPResponse(status: 200, headers: HTTPHeaders(headers), body: Body(transport: self, pending: first))
    }

    struct Body: HTTPBody {
        let transport: EndlessTransport
        var pending: [UInt8]

        mutating func next() async throws(Failure) -> [UInt8]? {
            transport.clock.advance(by: transport.every)
            defer { pending = [] }
            return pending + transport.piece
        }
    }

    /// An endless body that is fast enough for the throughput limit.
    static func steady(_ clock: RecordingClock) -> EndlessTransport {
        EndlessTransport(clock: clock, piece: Array(repeating: 1, count: 4096), every: .seconds(9))
    }

    /// An endless gzip stream of empty blocks, which never yields a byte.
    static func emptyBlocks(_ clock: RecordingClock, inEach count: Int, every: Duration = .zero) -> EndlessTransport {
        EndlessTransport(
            clock: clock, headers: [.init("Content-Encoding", "gzip")], first: [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3],
            piece: Array(repeatElement([0, 0, 0, 0xFF, 0xFF], count: count).joined()), every: every)
    }
}

/// Without limits on received bytes, throughput and time, each of these would take forever or until the limit on
/// decompressed bytes.
@Suite("Answers without an end") struct EndlessAnswerTests {
    let clock = RecordingClock()

    private func client(_ transport: any HTTPTransport, _ change: (inout Limits) -> Void = { _ in }) -> ServerClient {
        var limits = Limits()
        limits.tries = 2
        change(&limits)
        return ServerClient(transport, limits: limits, environment: clock.environment(random: 0))
    }

    @Test func endlessEmptyGzipBlocksAreRefused() async {
        let client = client(EndlessTransport.emptyBlocks(clock, inEach: 1000)) { $0.wireExcessBytes = 100_000 }
        let limit = Limits().monitorBytes + 100_000
        #expect(await reason { try await client.monitor() } == .tooLargeOnTheWire(limit: limit))
        #expect(client.metrics.requests == 1 && client.metrics.bodyBytes == 0)
    }

    @Test func endlessErrorBodyIsRefused() async {
        struct Failing: HTTPTransport {
            let endless: EndlessTransport

            func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
                var response = try await endless.send(request)
                response.status = 404
                return response
            }
        }
        let client = client(Failing(endless: .emptyBlocks(clock, inEach: 1000)))
        #expect(await reason { try await client.rootDocument() } == .status(404, body: ""))
    }

    @Test func trickledGzipBlocksTimeOut() async {
        let client = client(EndlessTransport.emptyBlocks(clock, inEach: 1, every: .seconds(9)))
        #expect(await reason { try await client.monitor() } == .tooSlow(leastBytesPerSecond: 256, seconds: 60))
        #expect(client.metrics.requests == 2)
    }

    @Test(arguments: [0, 1 << 20]) func trickledBodyTimesOut(afterFastBytes count: Int) async {
        let beginning = [UInt8](repeating: 0, count: count)
        let client = client(EndlessTransport(clock: clock, first: beginning, piece: [1], every: .seconds(9)))
        #expect(await reason { try await client.monitor() } == .tooSlow(leastBytesPerSecond: 256, seconds: 60))
    }

    /// The time limit applies even if the throughput is high enough, and such a timeout is not retried.
    @Test func documentTimeLimit() async {
        let client = client(EndlessTransport.steady(clock))
        #expect(await reason { try await client.monitor() } == .timeout(.answer, seconds: 600))
        #expect(client.metrics.requests == 1)
    }

    @Test func documentTimeoutIncludesRetries() async {
        struct Silent: HTTPTransport {
            let clock: RecordingClock

            func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
                clock.advance(by: .seconds(30))
                throw Failure(request.url, .timeout(.head, seconds: 30))
            }
        }
        let client = client(Silent(clock: clock)) {
            $0.tries = .max
            $0.documentSeconds = 100
        }
        #expect(await reason { try await client.rootDocument() } == .timeout(.head, seconds: 30))
        #expect(client.metrics.requests == 4)
    }

    @Test func downloadTimeout() async throws {
        let client = client(EndlessTransport.steady(clock)) { $0.downloadSeconds = 1000 }
        let base = try AttachmentsURL("https://cdn.example/", of: .production)
        #expect(
            await reason { try await client.attachment("a", at: base, size: .max, digest: nothing) { _ in } }
                == .timeout(.answer, seconds: 1000))
        #expect(client.metrics.requests == 1)
    }

    @Test func slowReaderIsNoServerTimeout() async throws {
        struct DiskFull: Error {}
        let client = client(EndlessTransport(clock: clock, piece: [1, 2, 3, 4], every: .milliseconds(1)))
        let base = try AttachmentsURL("https://cdn.example/", of: .production)
        var received = 0
        await #expect(throws: DiskFull.self) {
            try await client.attachment("a", at: base, size: .max, digest: nothing) { part in
                guard case .bytes(let bytes) = part else { return }
                clock.advance(by: .seconds(70))
                received += bytes.count
                if received == 400 { throw DiskFull() }
            }
        }
    }

    @Test func runTimeout() async throws {
        let transport = ScriptedTransport([.answer(200), .answer(200), .answer(200)])
        let client = client(transport) { $0.runSeconds = 100 }
        _ = try await client.rootDocument()
        clock.advance(by: .seconds(99))
        _ = try await client.rootDocument()
        clock.advance(by: .seconds(1))
        #expect(await reason { try await client.rootDocument() } == .timeout(.run, seconds: 100))
        #expect(transport.requests.count == 2)
        _ = try await client.startingRun().rootDocument()
    }

    @Test func runTimeoutDuringAnswer() async {
        let client = client(EndlessTransport.steady(clock)) { $0.runSeconds = 100 }
        #expect(await reason { try await client.monitor() } == .timeout(.run, seconds: 100))
    }
}

/// Extreme numbers from a server are refused or clamped, and never cause a crash.
@Suite("Numbers at their ends") struct ExtremeNumberTests {
    static let numbers = [
        "-1", "0", "1", "2147483648", "4294967296", "9007199254740993", "9223372036854775806", "9223372036854775807",
        "9223372036854775808", "18446744073709551615", "18446744073709551616", "99999999999999999999999999", "+5",
        "1e9",
    ]

    private func client(_ transport: ScriptedTransport) -> ServerClient {
        var limits = Limits()
        limits.tries = 1
        limits.attachmentBytes = .max
        limits.rootDocumentBytes = .max
        return ServerClient(transport, limits: limits, environment: RecordingClock().environment(random: 0))
    }

    @Test(arguments: numbers, [200, 204, 206, 302, 404, 416, 503])
    func hugeNumbersInHeaders(_ number: String, _ status: Int) async throws {
        let values = [number, "bytes \(number)-\(number)/\(number)", "bytes 1-\(number)/*", "bytes */\(number)"]
        for value in values {
            let fields = ["Content-Length", "Content-Range", "Retry-After", "Backoff"].map {
                HTTPHeaders.Field($0, $0 == "Content-Range" ? value : number)
            }
            let client = client(ScriptedTransport([.answer(status, fields, body: "x"), .answer(status, fields)]))
            let base = try AttachmentsURL("https://cdn.example/", of: .production)
            _ = try? await client.rootDocument()
            for offset in [0, 1, Int.max] {
                _ = try? await client.startingRun().attachment(
                    "a", at: base, size: .max, digest: nothing,
                    resume: ResumePoint(offset: offset, hasher: ContentHasher()), receive: { _ in })
            }
            let longest = client.backoff.holds.map(\.until).max() ?? Timestamp(milliseconds: 0)
            #expect(longest <= RecordingClock().now.advanced(by: .seconds(Limits.backoffSeconds)))
        }
    }

    @Test(arguments: numbers) func hugeBackoffOfEarlierRun(_ number: String) async throws {
        let until = Timestamp(number) ?? Timestamp(milliseconds: .max)
        let client = ServerClient(
            ScriptedTransport([.answer(200)]), environment: RecordingClock().environment(random: 0),
            backoff: BackoffState([.init(origin: ServerURL.production.url.origin, until: until)]))
        _ = try await client.rootDocument()
    }
}
