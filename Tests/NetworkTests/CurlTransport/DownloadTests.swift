import FaultyServer
import RemoteSettingsModel
import SnapshotBundle
import Testing

@testable import RemoteSettingsHTTP

@Suite("Downloads over a real connection")
struct DownloadTests {

    /// A receiver of a download, which goes back to the offset of each start.
    struct Received {
        var bytes: [UInt8]
        var starts: [Int] = []

        init(_ bytes: [UInt8] = []) { self.bytes = bytes }

        mutating func take(_ part: DownloadPart) {
            switch part {
            case .start(let start):
                starts.append(start)
                bytes.removeLast(bytes.count - start)
            case .bytes(let more):
                bytes += more
            }
        }
    }

    private static let nothing = SHA256Digest(hashing: Bytes(utf8: ""))

    /// As many tries as it takes: how much of a broken answer arrives is chance.
    static let patient: Limits = {
        var limits = FaultyServer.limits
        limits.tries = 1000
        return limits
    }()

    func download(
        _ fault: String, from server: FaultyServer, limits: Limits = Self.patient, size: Int = file.count,
        held: [UInt8] = []
    ) async throws -> (Received, ServerClient) {
        let client = try server.client("ok", limits: limits)
        let base = try server.attachments(fault, of: client)
        var received = Received(held)
        var hasher = ContentHasher()
        hasher.update(held.span)
        let resume = held.isEmpty ? nil : ResumePoint(offset: held.count, hasher: hasher)
        let digest = SHA256Digest(hashing: Bytes(file))
        try await client.attachment("main/a b.bin", at: base, size: size, digest: digest, resume: resume) {
            received.take($0)
        }
        return (received, client)
    }

    @Test func whole() async throws {
        let server = try FaultyServer()
        let (received, client) = try await download("file", from: server)
        #expect(received.bytes == file)
        #expect(received.starts == [0])
        #expect(client.metrics.bodyBytes == file.count)
        let request = try #require(server.requests.first)
        #expect(request.target == "/file/main/a%20b.bin")
        #expect(request.headers["accept-encoding"] == "identity")
        #expect(request.headers["range"] == nil)
    }

    @Test func resumed() async throws {
        let server = try FaultyServer()
        let (received, client) = try await download("file", from: server, held: Array(file[..<150_000]))
        #expect(received.bytes == file)
        #expect(received.starts == [150_000])
        #expect(client.metrics.bodyBytes == 50_000)
        #expect(server.requests.first?.headers["range"] == "bytes=150000-")
    }

    @Test func resumedAfterOtherBytes() async throws {
        let server = try FaultyServer()
        let (received, client) = try await download("file", from: server, held: [1, 2, 3])
        #expect(received.bytes == file)
        #expect(received.starts == [3, 0])
        #expect(client.metrics.requests == 2)
    }

    @Test func resumedThoughWhole() async throws {
        let server = try FaultyServer()
        let (received, client) = try await download("file", from: server, held: file)
        #expect(received.bytes == file)
        #expect(received.starts == [file.count])
        #expect(client.metrics.requests == 1)
    }

    @Test func resumedWithMoreThanThereIs() async throws {
        let server = try FaultyServer()
        let limit = file.count + 1
        let why = await reason { try await download("file", from: server, size: limit, held: file + [0]) }
        #expect(why?.code == .content && why?.description.contains("found 200000 bytes") == true)
        // The server does not have the part, and the whole file is not the one that was asked for.
        #expect(server.requests.map { $0.headers["range"] } == ["bytes=200001-", nil])
    }

    @Test func goesOnAfterABrokenConnection() async throws {
        let server = try FaultyServer()
        let (received, client) = try await download("file-breaks", from: server)
        #expect(received.bytes == file)
        // No byte is transferred twice, except those that the broken connection had not delivered.
        #expect(client.metrics.bodyBytes == file.count)
        let offset = try #require(received.starts.last)
        #expect((1...70_000).contains(offset))
        #expect(server.requests.last?.headers["range"] == "bytes=\(offset)-")
        #expect(server.requests.last?.headers["if-range"] == "\"one\"")
    }

    @Test func goesOnSeveralTimes() async throws {
        let server = try FaultyServer()
        let (received, client) = try await download("file-breaks-often", from: server)
        #expect(received.bytes == file)
        #expect(received.starts.count >= 3)
        #expect(client.metrics.bodyBytes == file.count)
    }

    @Test(arguments: ["file-breaks-no-ranges", "file-changed", "file-gone-range"])
    func startsAgain(fault: String) async throws {
        let server = try FaultyServer()
        let (received, _) = try await download(fault, from: server)
        #expect(received.bytes == file)
        #expect(received.starts.count >= 2 && received.starts.allSatisfy { $0 == 0 })
    }

    @Test(
        arguments: [
            "file-wrong-range", "file-no-content-range", "file-wrong-length", "file-changed-unnoticed",
            "file-unasked-part",
        ])
    func wrongPart(fault: String) async throws {
        let server = try FaultyServer()
        let why = await reason { try await download(fault, from: server) }
        guard why?.description.contains("not the requested part") == true else {
            Issue.record("\(String(describing: why))")
            return
        }
    }

    @Test func longerThanTheRecordSays() async throws {
        let server = try FaultyServer()
        #expect(await reason { try await download("file", from: server, size: 1000) } == .tooLarge(limit: 1000))
        #expect(await reason { try await download("file-endless", from: server, size: 1000) } == .tooLarge(limit: 1000))
        #expect(
            await reason { try await download("file", from: server, size: 199_999, held: Array(file[..<100])) }
                == .tooLarge(limit: 199_999))
    }

    @Test func missing() async throws {
        let server = try FaultyServer()
        let client = try server.client("ok")
        let base = try server.attachments(server.raw("HTTP/1.1 404 Not Found\r\n\r\n"), of: client)
        #expect(
            await reason { try await client.attachmentsZip(CollectionID("main/markets"), at: base) { _ in } }
                == .status(404, body: ""))
        #expect(server.requests.first?.target.hasSuffix("/bundles/main--markets.zip") == true)
    }

    struct DiskFull: Error {}

    @Test func receiversErrorEndsTheDownload() async throws {
        let server = try FaultyServer()
        let client = try server.client("ok")
        let base = try server.attachments("file-endless", of: client)
        await #expect(throws: DiskFull.self) {
            try await client.attachment("a", at: base, size: .max, digest: Self.nothing) { part in
                if case .bytes = part { throw DiskFull() }
            }
        }
        #expect(client.metrics.requests == 1)
    }

    @Test func badLocationIsNotRequested() async throws {
        let server = try FaultyServer()
        let client = try server.client("ok")
        let base = try server.attachments("file", of: client)
        let error = await #expect(throws: Failure.self) {
            try await client.attachment("../ok/v1/", at: base, size: 1, digest: Self.nothing) { _ in }
        }
        #expect(error?.reason == .badLocation("it contains a . or .. segment"))
        #expect(client.metrics.requests == 0)
    }
}
