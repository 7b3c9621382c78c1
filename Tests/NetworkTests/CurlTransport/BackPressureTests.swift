import FaultyServer
@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

@Suite("Memory is bounded whatever a server sends") struct BackPressureTests {
    /// The peak memory usage of this process in bytes.
    private static func peak() -> Int {
        var usage = rusage()
        #if canImport(Darwin)
        unsafe getrusage(RUSAGE_SELF, &usage)
        return usage.ru_maxrss
        #else
        unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss << 10
        #endif
    }

    @Test(arguments: ["endless", "endless-unframed", "bomb"]) func unreadBodyStopsTheServer(fault: String) async {
        // Runs in a separate process, because the peak covers the whole process.
        await #expect(processExitsWith: .success) { [fault = fault as String] in try await Self.leaveUnread(fault) }
    }

    private static func leaveUnread(_ fault: String) async throws {
        let server = try FaultyServer()
        let before = Self.peak()
        let request = try server.request(fault, headers: HTTPHeaders([.init("Accept-Encoding", "gzip")]))
        let response = try await server.transport.send(request).decoded(for: request)
        var body = response.body
        let first = try #require(try await body.next())
        // These requests give the server time to send more of the unread body.
        let client = try server.client("ok")
        for _ in 0..<100 { #expect(try await client.rootDocument().body.count == document.count) }
        // The remaining bytes are in the transport's buffer and the system's buffers on both sides.
        #expect(server.sentBytes - 100 * document.count < 32 << 20)
        #expect(Self.peak() - before < 64 << 20)
        // The transfer continues when the body is read.
        var read = first.count
        while read < 64 << 20 { read += try #require(try await body.next()).count }
        #expect(Self.peak() - before < 64 << 20)
    }

    @Test func droppedBodyStopsTheTransfer() async throws {
        let server = try FaultyServer()
        // More than the maximum number of connections to one host.
        for _ in 0..<20 {
            var body = try await server.transport.send(server.request("endless")).body
            _ = try await body.next()
        }
        #expect(try await server.client("ok").rootDocument().body == Bytes(document))
    }
}
