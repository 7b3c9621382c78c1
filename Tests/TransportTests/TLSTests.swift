import CurlTransport
import FaultyServer
import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

@Suite("Servers that cannot prove who they are")
struct TLSTests {
    /// What a server with this certificate answers to a client that trusts the authority, by the name `localhost`.
    private func ask(
        _ certificate: ServerCertificate, host: String = "localhost", trusting authority: ServerCertificate? = nil
    ) async throws -> (ServerClient, FaultyServer) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let roots = folder.appending(path: "roots.pem")
        try (authority ?? certificate).authority.write(to: roots, atomically: true, encoding: .utf8)
        let server = try FaultyServer(transport: CurlTransport())
        let proxy = try await TLSProxy(to: server.port, pem: certificate.certificateAndKey)
        let client = ServerClient(
            server: try ServerURL(server.url("ok", at: "https://\(host):\(proxy.port)") + "/v1"),
            transport: CurlTransport(certificateAuthorities: roots.path),
            userAgent: UserAgent(name: "tests", version: "1.0"), limits: oneTry())
        return (client, server)
    }

    private func isRefused(_ client: ServerClient, _ server: FaultyServer) async throws {
        let why = await reason { try await client.rootDocument() }
        guard case .tls = why else {
            Issue.record("\(String(describing: why))")
            return
        }
        #expect(server.requests.isEmpty)
    }

    @Test func rightCertificate() async throws {
        let (client, server) = try await ask(ServerCertificate())
        for _ in 0..<3 { #expect(try await client.rootDocument().body == Bytes(document)) }
        #expect(server.connections == 1)
    }

    @Test func ofAnotherAuthority() async throws {
        let (client, server) = try await ask(ServerCertificate(), trusting: ServerCertificate())
        try await isRefused(client, server)
    }

    @Test func ofAnotherName() async throws {
        let (client, server) = try await ask(ServerCertificate(name: "elsewhere.example"))
        try await isRefused(client, server)
    }

    @Test func expired() async throws {
        let (client, server) = try await ask(ServerCertificate(validFor: -1))
        try await isRefused(client, server)
    }

    @Test func notOneOfTheSystems() async throws {
        let (_, server) = try await ask(ServerCertificate())
        let proxy = try await TLSProxy(to: server.port, pem: ServerCertificate().certificateAndKey)
        let client = ServerClient(
            server: try ServerURL(server.url("ok", at: "https://localhost:\(proxy.port)") + "/v1"),
            transport: CurlTransport(),
            userAgent: UserAgent(name: "tests", version: "1.0"), limits: oneTry())
        try await isRefused(client, server)
    }

    /// OpenSSL's memory outlives the thread of a transport that an exit does not wait for.
    @Test(arguments: 0..<3)
    func aProcessMayEndDuringRequests(number: Int) async {
        await #expect(processExitsWith: .success) { [number = number as Int] in
            let (trusting, server) = try await TLSTests().ask(ServerCertificate())
            _ = try await trusting.rootDocument()
            for _ in 0..<4 {
                Task {
                    for _ in 0..<1_000 {
                        // Each transport has a thread and a connection of its own, and does not trust the server.
                        let client = ServerClient(
                            server: trusting.server, transport: CurlTransport(),
                            userAgent: UserAgent(name: "tests", version: "1.0"), limits: oneTry())
                        _ = try? await client.rootDocument()
                    }
                }
            }
            try await Task.sleep(for: .milliseconds(200 + 30 * number))
            withExtendedLifetime(server) { exit(0) }
        }
    }
}
