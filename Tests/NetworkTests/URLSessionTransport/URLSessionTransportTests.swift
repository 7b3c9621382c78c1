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

/// The behavior of the transport over real connections.
struct URLSessionTransportTests {
    let server: FaultyServer
    let collection: CollectionID

    init() throws {
        server = try FaultyServer(transport: URLSessionTransport())
        collection = try CollectionID("main/markets")
    }

    @Test(arguments: ["ok", "gzip-ok", "gzip-chunked"]) func urlSessionDeliversDocument(_ fault: String) async throws {
        let client = try server.client(fault)
        for _ in 0..<5 { #expect(try await client.rootDocument().body == Bytes(document)) }
        let request = try #require(server.requests.first)
        #expect(request.target == "/\(fault)/v1/")
        #expect(request.headers["user-agent"] == "tests/1.0")
        #expect(request.headers["accept-encoding"]?.contains("gzip") == true)
        #expect(request.headers["cookie"] == nil)
    }

    @Test func urlSessionLeavesRedirectsToClient() async throws {
        let client = try server.client("moved")
        let answer = try await client.rootDocument()
        #expect(answer.body == Bytes(document))
        #expect(answer.url.description.hasSuffix("/ok/v1/?moved"))
        #expect(client.metrics.requests == 2)
        let loop = try server.client("loop")
        #expect(await reason { try await loop.rootDocument() } == .redirectLoop)
    }

    @Test func urlSessionReturnsErrorStatuses() async throws {
        let client = try server.client(server.raw("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone"))
        #expect(await reason { try await client.rootDocument() } == .status(404, body: "gone"))
    }

    #if canImport(Darwin)
    /// Only where URLSession supports back pressure. On Linux, it uses libcurl and receives data as fast as the server
    /// sends it, even if nothing reads it: an endless body filled 23 GB of memory before it was stopped.
    @Test(arguments: ["endless", "endless-unframed", "announced-huge", "bomb"])
    func urlSessionTooLargeBodyIsRefused(_ fault: String) async throws {
        let client = try server.client(fault, limits: oneTry { $0.rootDocumentBytes = 3_000_000 })
        #expect(await reason { try await client.rootDocument() } == .tooLarge(limit: 3_000_000))
    }
    #endif

    /// On a busy machine, the timeout for the head may be late, but URLSession's own timeout must not come first.
    @Test(arguments: [
        ("silent", 300, Failure.timeout(.head, seconds: 1)), ("stalled", 1, Failure.timeout(.body, seconds: 1)),
    ])
    func urlSessionSilentServerTimesOut(_ fault: String, idleSeconds: Int, _ expected: Failure) async throws {
        let limits = oneTry {
            $0.idleTimeoutSeconds = idleSeconds
            if fault == "silent" { $0.headTimeoutSeconds = 1 }
        }
        let client = try server.client(fault, limits: limits)
        #expect(await reason { try await client.rootDocument() } == expected)
    }

    /// The uptime grows by 200 s each time it is read.
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
        let limits = oneTry { $0.leastBytesPerSecond = 0 }
        let client = try server.client("ok", limits: limits, environment: environment)
        #expect(await reason { try await client.rootDocument() } == .timeout(.answer, seconds: 600))
    }

    /// A compressed body can keep the connection busy without yielding data, which `URLSession`'s own timeout does not
    /// detect.
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
        #expect(await reason { try await body.next() } == .timeout(.body, seconds: 0))
    }

    @Test(arguments: ["silent", "stalled"]) func urlSessionCancelledRequestEnds(_ fault: String) async throws {
        let client = try server.client(fault, limits: oneTry { $0.rootDocumentBytes = .max })
        let task = Task { try await client.rootDocument() }
        while client.metrics.requests == 0 { try? await Task.sleep(for: .milliseconds(1)) }
        task.cancel()
        #expect(await reason { try await task.value } == .cancelled)
    }

    @Test("One table of lies for all transports", arguments: chapters)
    func serverLieEndsInFailureOrRightBytes(_ chapter: Lie.Chapter) async throws {
        let complaints = try await chapter.complaints(
            about: { _ in server.transport }, leavingOut: Self.isMisreadByTheSystem)
        for complaint in complaints { Issue.record("\(complaint)") }
    }

    @Test("One table of codings for all transports", arguments: codings)
    func recordDecidesWhetherContentIsDecoded(_ coding: Coding) async throws {
        let complaint = try await coding.complaint(about: server.transport, decodes: true)
        #expect(complaint == nil)
    }

    // On Linux, where no app uses this transport, FoundationNetworking (6.3) crashes if a head is incomplete ("Transfer
    // completed, but there's no response"), accepts a truncated compressed body as complete, and hangs on a length of
    // 2^63 - 1. None of this can be fixed here.
    #if canImport(FoundationNetworking)
    private static let chapters = Array(Lie.chapters.prefix(4))
    // For an unknown coding, it reports neither the head nor the name of the coding.
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
        let nobody = ServerClient(server.transport, of: try ServerURL("http://127.0.0.1:1/v1"), limits: oneTry())
        #expect(await reason { try await nobody.rootDocument() }?.code == .unreachable)
    }

    @Test func urlSessionResumesBrokenDownload() async throws {
        let client = try server.client("ok", limits: oneTry { $0.tries = 1000 })
        let base = try server.attachments("file-breaks", of: client)
        var received = DownloadTests.Received()
        let digest = SHA256Digest(hashing: Bytes(file))
        try await client.attachment("main/a b.bin", at: base, size: file.count, digest: digest) { received.take($0) }
        #expect(received.bytes == file)
        #expect(received.starts.count >= 2)
        #expect(server.requests.last?.headers["accept-encoding"] == "identity")
    }
}
