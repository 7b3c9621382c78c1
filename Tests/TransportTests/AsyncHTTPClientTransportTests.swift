import AsyncHTTPTransport
import FaultyServer
import RemoteSettingsHTTP
import Testing

@Suite("What only AsyncHTTPClient has")
struct AsyncHTTPClientTransportTests {
    @Test func afterShutdown() async throws {
        let transport = AsyncHTTPClientTransport()
        let server = try FaultyServer(transport: transport)
        let client = try server.client("ok", limits: oneTry())
        _ = try await client.rootDocument()
        await transport.shutdown()
        let error = await #expect(throws: HTTPError.self) { try await client.rootDocument() }
        #expect(error != nil)
    }
}
