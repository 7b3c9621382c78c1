import FaultyServer
import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

@testable import RemoteSettingsHTTP
@testable import URLSessionTransport

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What a transport has to see to, over real connections.
struct URLSessionTransportTests {
    let server: FaultyServer
    let collection: CollectionID

    init() throws {
        server = try FaultyServer(transport: URLSessionTransport())
        collection = try CollectionID("main/markets")
    }

    private static func limits(_ change: (inout Limits) -> Void) -> Limits {
        var limits = FaultyServer.limits
        limits.tries = 1
        change(&limits)
        return limits
    }

    private func failure(_ body: () async throws -> some Any) async -> Failure? {
        await #expect(throws: Failure.self) { _ = try await body() }
    }

    @Test(arguments: ["ok", "gzip-ok", "gzip-chunked"])
    func whole(_ fault: String) async throws {
        let client = try server.client(fault)
        for _ in 0..<5 { #expect(try await client.rootDocument().body == Bytes(document)) }
        let request = try #require(server.requests.first)
        #expect(request.target == "/\(fault)/v1/")
        #expect(request.headers["user-agent"] == "tests/1.0")
        #expect(request.headers["accept-encoding"]?.contains("gzip") == true)
        #expect(request.headers["cookie"] == nil)
    }

    @Test func manyAtOnce() async throws {
        let client = try server.client("gzip-ok")
        let sizes = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 { group.addTask { try await client.rootDocument().body.count } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sizes == Array(repeating: document.count, count: 50))
    }

    @Test func urlSessionLeavesRedirectsToClient() async throws {
        let client = try server.client("moved")
        let answer = try await client.rootDocument()
        #expect(answer.body == Bytes(document))
        #expect(answer.url.description.hasSuffix("/ok/v1/?moved"))
        #expect(client.metrics.requests == 2)
        let loop = try server.client("loop")
        #expect(await failure { try await loop.rootDocument() }?.reason == .redirectLoop)
    }

    @Test func urlSessionReturnsErrorStatuses() async throws {
        let client = try server.client(server.raw("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone"))
        #expect(await failure { try await client.rootDocument() }?.reason == .status(404, body: "gone"))
    }

    @Test(arguments: ["cut-plain", "cut-in-chunk"])
    func truncated(_ fault: String) async throws {
        let client = try server.client(fault, limits: Self.limits { _ in })
        #expect(await failure { try await client.rootDocument() }?.code == .broken)
    }

    #if canImport(Darwin)
    /// Only if URLSession can be held back. Over libcurl it takes what the server sends as fast as it comes,
    /// whatever its reader does: an endless body has filled 23 GB of memory there before it was stopped.
    @Test(arguments: ["endless", "endless-unframed", "announced-huge", "bomb"])
    func tooLarge(_ fault: String) async throws {
        let client = try server.client(fault, limits: Self.limits { $0.rootDocumentBytes = 3_000_000 })
        #expect(await failure { try await client.rootDocument() }?.reason == .tooLarge(limit: 3_000_000))
    }
    #endif

    @Test func silence() async throws {
        // On a busy machine the alarm for the head may be late, but URLSession's own time-out does not come before it.
        let limits = Self.limits {
            $0.headTimeoutSeconds = 1
            $0.idleTimeoutSeconds = 300
        }
        let client = try server.client("silent", limits: limits)
        #expect(await failure { try await client.rootDocument() }?.reason == .timeout(.head, seconds: 1))
    }

    /// The uptime grows with every look at it.
    @Test func urlSessionAnswerTimeout() async throws {
        let looks = Mutex(0)
        let environment = HTTPEnvironment(
            now: HTTPEnvironment.system.now, sleep: { _ in }, random: { 0 },
            uptime: {
                looks.withLock { count in
                    count += 1
                    return .seconds(200 * count)
                }
            })
        let limits = Self.limits { $0.leastBytesPerSecond = 0 }
        let client = try server.client("ok", limits: limits, environment: environment)
        #expect(await failure { try await client.rootDocument() }?.reason == .timeout(.answer, seconds: 600))
    }

    /// A compressed body may keep the connection busy and yield nothing, which `URLSession`'s own time-out does not
    /// see.
    @Test func urlSessionStalledBodyTimesOut() async throws {
        let request = HTTPRequest(
            url: try HTTPURL("https://nobody.invalid/"), headers: HTTPHeaders(), headTimeout: .zero,
            idleTimeout: .milliseconds(1))
        let transfer = URLSessionTransfer(request)
        let url = try #require(URL(string: "https://nobody.invalid/"))
        // Never resumed: nothing arrives after the head.
        let task = URLSession.shared.dataTask(with: URLRequest(url: url))
        let body = BufferedBody(transfer.answer, url: request.url, resume: {}, stop: { task.cancel() })
        transfer.answer.begin(.init(status: 200, headers: HTTPHeaders()))
        transfer.answer.append([1, 2, 3], pause: {})
        try await transfer.watch(task)
        #expect(try await body.next() == [1, 2, 3])
        #expect(await failure { try await body.next() }?.reason == .timeout(.body, seconds: 0))
    }

    @Test func stalledBody() async throws {
        let client = try server.client("stalled", limits: Self.limits { $0.idleTimeoutSeconds = 1 })
        #expect(await failure { try await client.rootDocument() }?.reason == .timeout(.body, seconds: 1))
    }

    @Test(arguments: ["silent", "stalled"])
    func cancelled(_ fault: String) async throws {
        let client = try server.client(fault, limits: Self.limits { $0.rootDocumentBytes = .max })
        let task = Task { try await client.rootDocument() }
        while client.metrics.requests == 0 { try? await Task.sleep(for: .milliseconds(1)) }
        task.cancel()
        #expect(await failure { try await task.value }?.reason == .cancelled)
    }

    @Test("One table of lies for all transports", arguments: chapters)
    func aTypedErrorOrTheRightBytes(_ chapter: Lie.Chapter) async throws {
        let complaints = try await chapter.complaints(
            about: { _ in server.transport }, leavingOut: Self.isMisreadByTheSystem)
        for complaint in complaints { Issue.record("\(complaint)") }
    }

    @Test("One table of codings for all transports", arguments: codings)
    func theRecordDecides(_ coding: Coding) async throws {
        let complaint = try await coding.complaint(about: server.transport, decodes: true)
        #expect(complaint == nil)
    }

    // On Linux, where no app uses this transport, FoundationNetworking (6.3) traps if a head ends early ("Transfer
    // completed, but there's no response"), takes a compressed body that is cut for a whole one, and does not come back
    // from a length of 2^63 - 1: nothing that could be mended here.
    #if canImport(FoundationNetworking)
    private static let chapters = Array(Lie.chapters.prefix(4))
    // It says neither the head nor the name of a coding that it does not know.
    private static let codings = Coding.table.filter { $0.description != "a file in a coding that nobody knows" }

    private static func isMisreadByTheSystem(_ lie: Lie) -> Bool {
        lie.isCutInHead || lie.name.hasPrefix("compressed, without a length")
    }
    #else
    private static let chapters = Lie.chapters
    private static let codings = Coding.table

    private static func isMisreadByTheSystem(_: Lie) -> Bool { false }
    #endif

    @Test func urlSessionRefusedConnection() async throws {
        let nobody = ServerClient(
            server: try ServerURL("http://127.0.0.1:1/v1"), transport: server.transport,
            userAgent: UserAgent(name: "tests", version: "1"), limits: Self.limits { _ in })
        #expect(await failure { try await nobody.rootDocument() }?.code == .unreachable)
    }

    @Test func downloadGoesOnAfterABrokenConnection() async throws {
        let client = try server.client("ok", limits: Self.limits { $0.tries = 1000 })
        let base = try server.attachments("file-breaks", of: client)
        var received: [UInt8] = []
        var starts: [Int] = []
        let digest = SHA256Digest(hashing: Bytes(file))
        try await client.attachment("main/a b.bin", at: base, size: file.count, digest: digest) { part in
            switch part {
            case .start(let start):
                starts.append(start)
                received.removeLast(received.count - start)
            case .bytes(let bytes): received += bytes
            }
        }
        #expect(received == file)
        #expect(starts.count >= 2)
        #expect(server.requests.last?.headers["accept-encoding"] == "identity")
    }
}
