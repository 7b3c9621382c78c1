import FaultyServer
@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

@Suite("Connections that fail")
struct ConnectionTests {
    /// Seconds, so that the tests of time-outs are short.
    static let shortTimes: Limits = oneTry {
        $0.headTimeoutSeconds = 1
        $0.idleTimeoutSeconds = 1
    }

    @Test func slowHead() async throws {
        let server = try FaultyServer()
        let client = try server.client("silent", limits: Self.shortTimes)
        let why = await reason { try await client.rootDocument() }
        #expect(why == .timeout(.head, seconds: 1))
    }

    @Test func stalledBody() async throws {
        let server = try FaultyServer()
        let client = try server.client("stalled", limits: Self.shortTimes)
        #expect(await reason { try await client.rootDocument() } == .timeout(.body, seconds: 1))
    }

    @Test func timeOutsAreRepeated() async throws {
        var limits = Self.shortTimes
        limits.tries = 2
        let server = try FaultyServer()
        let client = try server.client("silent", limits: limits)
        #expect(await reason { try await client.rootDocument() } == .timeout(.head, seconds: 1))
        #expect(client.metrics.requests == 2)
    }

    @Test func refused() async throws {
        let server = try FaultyServer()
        let nobody = ServerClient(
            server: try ServerURL("http://127.0.0.1:1/v1"), transport: server.transport,
            userAgent: UserAgent(name: "tests", version: "1"), limits: oneTry())
        let error = await #expect(throws: Failure.self) { try await nobody.rootDocument() }
        #expect(error?.code == .unreachable)
        #expect(error?.description.contains("refused") == true, "\(String(describing: error))")
        #expect(error?.place == "http://127.0.0.1:1/v1/")
    }

    @Test func unknownHost() async throws {
        let server = try FaultyServer()
        let nobody = ServerClient(
            server: try ServerURL("https://nobody.invalid/v1"), transport: server.transport,
            userAgent: UserAgent(name: "tests", version: "1"), limits: oneTry())
        let error = await #expect(throws: Failure.self) { try await nobody.rootDocument() }
        #expect(error?.code == .unreachable)
        #expect(error?.description.contains("not found") == true, "\(String(describing: error))")
    }

    @Test func noTLSThere() async throws {
        let server = try FaultyServer()
        let client = ServerClient(
            server: try ServerURL("https://127.0.0.1:\(server.port)/ok/v1"), transport: server.transport,
            userAgent: UserAgent(name: "tests", version: "1"), limits: oneTry())
        let why = await reason { try await client.rootDocument() }
        guard why?.code == .tls else {
            Issue.record("\(String(describing: why))")
            return
        }
    }

    @Test func closedWithoutAnAnswer() async throws {
        let server = try FaultyServer()
        let client = try server.client("closed")
        let why = await reason { try await client.rootDocument() }
        guard why?.code == .broken else {
            Issue.record("\(String(describing: why))")
            return
        }
        #expect(client.metrics.requests == Limits().tries)
    }

    @Test(
        arguments: [
            "NOT HTTP AT ALL\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        ])
    func garbage(answer: String) async throws {
        let server = try FaultyServer()
        let client = try server.client(server.raw(answer))
        let why = await reason { try await client.rootDocument() }
        guard why?.code == .broken, why?.description.contains("not valid HTTP") == true else {
            Issue.record("\(String(describing: why))")
            return
        }
        #expect(client.metrics.requests == 1)
    }

    @Test func oversizedHeaders() async throws {
        let server = try FaultyServer()
        let client = try server.client("huge-header")
        let why = await reason { try await client.rootDocument() }
        guard why?.code == .broken, why?.description.contains("not valid HTTP") == true else {
            Issue.record("\(String(describing: why))")
            return
        }
    }

    @Test(arguments: ["silent", "stalled", "endless"])
    func cancelled(fault: String) async throws {
        let server = try FaultyServer()
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
