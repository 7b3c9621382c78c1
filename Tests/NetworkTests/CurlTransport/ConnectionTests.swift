import FaultyServer
@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

@Suite("Connections that fail") struct ConnectionTests {
    let server: FaultyServer

    init() throws { server = try FaultyServer() }

    /// A client for a different address that makes only one attempt.
    private func client(at address: String) throws -> ServerClient {
        ServerClient(server.transport, of: try ServerURL(address), limits: oneTry())
    }

    @Test(arguments: [("silent", Failure.timeout(.head, seconds: 1)), ("stalled", Failure.timeout(.body, seconds: 1))])
    func silentServerTimesOut(fault: String, failure: Failure) async throws {
        // Short timeouts keep the test fast.
        let limits = oneTry { ($0.headTimeoutSeconds, $0.idleTimeoutSeconds) = (1, 1) }
        let client = try server.client(fault, limits: limits)
        #expect(await reason { try await client.rootDocument() } == failure)
    }

    @Test(arguments: [("http://127.0.0.1:1/v1", "refused"), ("https://nobody.invalid/v1", "not found")])
    func unreachableServerIsExplained(address: String, said: String) async throws {
        let nobody = try client(at: address)
        let error = await #expect(throws: Failure.self) { try await nobody.rootDocument() }
        #expect(error?.code == .unreachable && error?.place == "\(address)/")
        #expect(error?.description.contains(said) == true, "\(String(describing: error))")
    }

    @Test func serverWithoutTLSIsRefused() async throws {
        let client = try client(at: "https://127.0.0.1:\(server.port)/ok/v1")
        #expect(await reason { try await client.rootDocument() }?.code == .tls)
    }

    @Test func connectionClosedWithoutAnswerIsRetried() async throws {
        let client = try server.client("closed")
        #expect(await reason { try await client.rootDocument() }?.code == .broken)
        #expect(client.metrics.requests == Limits().tries)
    }

    @Test(
        arguments: [
            "NOT HTTP AT ALL\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        ])
    func invalidHTTPIsRefused(answer: String) async throws {
        let client = try server.client(server.raw(answer))
        let why = await reason { try await client.rootDocument() }
        #expect(why?.code == .broken && why?.description.contains("not valid HTTP") == true)
        #expect(client.metrics.requests == 1)
    }

    @Test func oversizedHeadersAreRefused() async throws {
        let client = try server.client("huge-header")
        let why = await reason { try await client.rootDocument() }
        #expect(why?.code == .broken && why?.description.contains("not valid HTTP") == true)
    }

    @Test(arguments: ["silent", "stalled", "endless"]) func cancelledRequestEnds(fault: String) async throws {
        var limits = FaultyServer.limits
        limits.rootDocumentBytes = .max
        let client = try server.client(fault, limits: limits)
        let task = Task { try await client.rootDocument() }
        while client.metrics.requests == 0 { try? await Task.sleep(for: .milliseconds(1)) }
        task.cancel()
        #expect(await reason { try await task.value } == .cancelled)
        #expect(client.metrics.requests == 1)
    }
}
