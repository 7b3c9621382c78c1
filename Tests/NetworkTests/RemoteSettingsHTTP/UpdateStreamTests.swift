@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

/// A transport that answers each request with the next of its answers, and notes the requests.
private final class StreamTransport: HTTPTransport {
    private let state: Mutex<(answers: [(Int, HTTPHeaders, [[UInt8]])], requests: [HTTPRequest])>

    init(_ answers: (status: Int, headers: [(String, String)], pieces: [String])...) {
        state = Mutex(
            (
                answers.map { answer in
                    (
                        answer.status, HTTPHeaders(answer.headers.map { .init($0.0, $0.1) }),
                        answer.pieces.map { Array($0.utf8) }
                    )
                }, []
            ))
    }

    var requests: [HTTPRequest] { state.withLock { $0.requests } }

    func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answers.isEmpty ? nil : state.answers.removeFirst()
        }
        guard let (status, headers, pieces) = answer else { throw Failure(request.url, .unreachable("the end")) }
        return HTTPResponse(status: status, headers: headers, body: Pieces(left: pieces))
    }

    struct Pieces: HTTPBody {
        var left: [[UInt8]]
        mutating func next() async throws(Failure) -> [UInt8]? { left.isEmpty ? nil : left.removeFirst() }
    }
}

struct UpdateStreamTests {
    private let type = ("Content-Type", "text/event-stream; charset=utf-8")

    private func client(_ transport: StreamTransport) throws -> ServerClient {
        ServerClient(
            server: try ServerURL("https://h.test/v2"), transport: transport,
            userAgent: UserAgent(name: "tests", version: "1"))
    }

    private func messages(_ stream: consuming UpdateStream) async throws -> [UpdateMessage] {
        var found: [UpdateMessage] = []
        while let message = try await stream.next() { found.append(message) }
        return found
    }

    @Test func updateStreamMessagesAreOrdered() async throws {
        let update = UpdateEvent.update(timestamp: Timestamp(milliseconds: 5), collections: nil)
        let transport = StreamTransport(
            (
                200, [type],
                [
                    "retry: 5000\n\n", ": hi\n\n", update.text(id: "5"), "data: {}\n\nevent: other\ndata: x\n\n",
                    "data: 1",
                ]
            ))
        let found = try await messages(try await client(transport).updates())
        #expect(Array(found.prefix(3)) == [.reconnectionTime(.seconds(5)), .heartbeat, .event(update)])
        #expect(found.count == 5)
        guard case .refused = found[3] else { return #expect(Bool(false), "\(found)") }
        #expect(found[4] == .heartbeat)
        let request = try #require(transport.requests.first)
        #expect("\(request.url)" == "https://h.test/v2/updates")
        #expect(request.headers["Accept"] == "text/event-stream")
        #expect(request.headers["Last-Event-ID"] == nil)
        #expect(request.idleTimeout == .seconds(3600))
    }

    @Test func updateStreamFollowsSafeRedirects() async throws {
        let transport = StreamTransport(
            (307, [("Location", "https://events.test/stream")], []), (200, [type], [": hi\n"]))
        #expect(try await messages(try await client(transport).updates()) == [.heartbeat])
        #expect("\(transport.requests[1].url)" == "https://events.test/stream")
        let insecure = StreamTransport((307, [("Location", "http://events.test/stream")], []))
        await #expect(throws: Failure.self) { try await client(insecure).updates() }
        let plain = try HTTPURL("http://events.test/stream")
        await #expect(throws: Failure(plain, .insecure)) { try await client(insecure).updates(at: plain) }
    }

    @Test func nonEventStreamAnswerIsRefused() async throws {
        for (status, type) in [(200, "text/html"), (200, ""), (204, "text/event-stream"), (404, "text/event-stream")] {
            let transport = StreamTransport((status, [("Content-Type", type)], ["data: {\"timestamp\":5}\n\n"]))
            await #expect(throws: Failure.self) { try await client(transport).updates() }
        }
        let long = StreamTransport((200, [type], [":" + String(repeating: "x", count: 70_000)]))
        await #expect(throws: Failure.self) { try await messages(try await client(long).updates()) }
    }

    @Test func updateStreamObeysRetryAfter() async throws {
        let transport = StreamTransport((503, [("Retry-After", "600")], []), (200, [type], []))
        let client = try client(transport)
        for _ in 0..<2 {
            let error = await #expect(throws: Failure.self) { try await client.updates() }
            #expect(error?.hold != nil)
        }
        #expect(transport.requests.count == 1)
    }
}
