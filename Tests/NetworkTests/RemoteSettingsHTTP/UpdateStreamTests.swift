@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

struct UpdateStreamTests {
    private func client(_ transport: ScriptedTransport) throws -> ServerClient {
        ServerClient(transport, of: try ServerURL("https://h.test/v2"))
    }

    private func messages(_ stream: consuming UpdateStream) async throws -> [UpdateMessage] {
        var found: [UpdateMessage] = []
        while let message = try await stream.next() { found.append(message) }
        return found
    }

    @Test func updateStreamMessagesAreOrdered() async throws {
        let update = UpdateEvent.update(timestamp: Timestamp(milliseconds: 5), collections: nil)
        let transport = ScriptedTransport([
            .stream([
                "retry: 5000\n\n", ": hi\n\n", update.text(id: "5"), "data: {}\n\nevent: other\ndata: x\n\n", "data: 1",
            ])
        ])
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
        let transport = ScriptedTransport([
            .answer(307, [.init("Location", "https://events.test/stream")]), .stream([": hi\n"]),
        ])
        #expect(try await messages(try await client(transport).updates()) == [.heartbeat])
        #expect("\(transport.requests[1].url)" == "https://events.test/stream")
        let insecure = ScriptedTransport([.answer(307, [.init("Location", "http://events.test/stream")])])
        await #expect(throws: Failure.self) { try await client(insecure).updates() }
        let plain = try HTTPURL("http://events.test/stream")
        await #expect(throws: Failure(plain, .insecure)) { try await client(insecure).updates(at: plain) }
    }

    @Test func nonEventStreamAnswerIsRefused() async throws {
        for (status, type) in [(200, "text/html"), (200, ""), (204, "text/event-stream"), (404, "text/event-stream")] {
            let fields = [HTTPHeaders.Field("Content-Type", type)]
            let transport = ScriptedTransport([.answer(status, fields, body: "data: {\"timestamp\":5}\n\n")])
            await #expect(throws: Failure.self) { try await client(transport).updates() }
        }
        let long = ScriptedTransport([.stream([":" + String(repeating: "x", count: 70_000)])])
        await #expect(throws: Failure.self) { try await messages(try await client(long).updates()) }
    }

    @Test func updateStreamObeysRetryAfter() async throws {
        let transport = ScriptedTransport([.answer(503, [.init("Retry-After", "600")]), .stream([])])
        let client = try client(transport)
        for _ in 0..<2 {
            let error = await #expect(throws: Failure.self) { try await client.updates() }
            #expect(error?.hold != nil)
        }
        #expect(transport.requests.count == 1)
    }
}
