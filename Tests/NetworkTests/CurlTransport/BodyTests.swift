import CurlTransport
import FaultyServer
@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import Testing

@Suite("Bodies over a real connection") struct BodyTests {
    // Uses a separate transport, so that connections of other tests do not replace this one's.
    let server: FaultyServer

    init() throws { server = try FaultyServer() }

    @Test(arguments: ["ok", "gzip-ok", "gzip-members", "gzip-chunked"])
    func documentArrivesWhole(fault: String) async throws {
        let client = try server.client(fault)
        let answer = try await client.rootDocument()
        #expect(answer.body == Bytes(document))
        #expect(client.metrics.requests == 1)
        #expect(client.metrics.bodyBytes == document.count)
        let request = try #require(server.requests.first)
        #expect(request.target == "/\(fault)/v1/")
        #expect(request.headers["user-agent"] == "tests/1.0")
        #expect(request.headers["accept-encoding"] == "gzip")
    }

    @Test func connectionIsUsedAgain() async throws {
        let client = try server.client("gzip-ok")
        for _ in 0..<20 { #expect(try await client.rootDocument().body.count == document.count) }
        #expect(client.metrics.requests == 20)
        #expect(server.connections == 1)
    }

    @Test func manyRequestsAtOnce() async throws {
        let client = try server.client("gzip-ok")
        let sizes = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 { group.addTask { try await client.rootDocument().body.count } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sizes == Array(repeating: document.count, count: 100))
        #expect(client.metrics.requests == 100)
        #expect(client.metrics.bodyBytes == 100 * document.count)
    }

    @Test(
        arguments: [
            "gzip-cut-on-the-wire", "gzip-cut-inside", "gzip-cut-chunked", "cut-plain", "cut-in-chunk",
            "cut-between-chunks",
        ])
    func truncatedBodyIsRetriedThenRefused(fault: String) async throws {
        let client = try server.client(fault)
        let why = await reason { try await client.rootDocument() }
        #expect(why?.code == .broken)
        #expect(why?.description.hasPrefix("the response body is truncated") == true)
        #expect(client.metrics.requests == Limits().tries)
        #expect(client.metrics.retries == Limits().tries - 1)
    }

    @Test(arguments: ["cut-once", "closed-once"]) func brokenConnectionIsRetried(fault: String) async throws {
        let client = try server.client(fault)
        #expect(try await client.rootDocument().body == Bytes(document))
        #expect(client.metrics.requests == 2)
    }

    @Test(arguments: ["bomb", "endless", "endless-unframed", "announced-huge"])
    func tooLargeBodyIsRefused(fault: String) async throws {
        var limits = FaultyServer.limits
        limits.rootDocumentBytes = 3_000_000
        // Otherwise, with a slow reader, the limit on received bytes might be reached first.
        limits.wireExcessBytes = 64 << 20
        let client = try server.client(fault, limits: limits)
        let found = await reason { try await client.rootDocument() }
        #expect(found == .tooLarge(limit: 3_000_000), "\(String(describing: found))")
        #expect(client.metrics.requests == 1)
        // At most one piece is read beyond the limit.
        #expect(client.metrics.bodyBytes <= 3_000_000 + (1 << 20))
    }

    @Test func eachKindOfDocumentHasItsLimit() async throws {
        var limits = FaultyServer.limits
        limits.rootDocumentBytes = document.count
        limits.monitorBytes = 11
        limits.changesetBytes = 12
        limits.chainBytes = 13
        limits.attachmentBytes = 14
        limits.attachmentsZipBytes = 15
        let client = try server.client("gzip-ok", limits: limits)
        let base = try server.attachments("ok", of: client)
        let collection = try CollectionID("main/markets")
        #expect(try await client.rootDocument().body.count == document.count)
        #expect(await reason { try await client.monitor() } == .tooLarge(limit: 11))
        #expect(await reason { try await client.changeset(collection) } == .tooLarge(limit: 12))
        #expect(await reason { try await client.chain(x5u: "chain.pem") } == .tooLarge(limit: 13))
        let digest = SHA256Digest(hashing: Bytes(document))
        #expect(
            await reason { try await client.attachment("a", at: base, size: document.count, digest: digest) { _ in } }
                == .tooLarge(limit: 14))
        #expect(await reason { try await client.attachmentsZip(collection, at: base) { _ in } } == .tooLarge(limit: 15))
    }
}
