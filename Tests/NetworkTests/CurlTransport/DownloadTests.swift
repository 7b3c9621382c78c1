import FaultyServer
import RemoteSettingsModel
import SnapshotBundle
import Testing

@testable import RemoteSettingsHTTP

@Suite("Downloads over a real connection") struct DownloadTests {
    let server: FaultyServer

    init() throws { server = try FaultyServer() }

    /// Collects the bytes of a download, truncated to the offset of each start.
    struct Received {
        var bytes: [UInt8]
        var starts: [Int] = []

        init(_ bytes: [UInt8] = []) { self.bytes = bytes }

        mutating func take(_ part: DownloadPart) {
            switch part {
            case .start(let start):
                starts.append(start)
                bytes.removeLast(bytes.count - start)
            case .bytes(let more): bytes += more
            }
        }
    }

    private static let nothing = SHA256Digest(hashing: Bytes(utf8: ""))

    /// Allows many attempts, because how much of a broken answer arrives is random.
    static let patient: Limits = {
        var limits = FaultyServer.limits
        limits.tries = 1000
        return limits
    }()

    func download(
        _ fault: String, limits: Limits = Self.patient, size: Int = file.count, held: [UInt8] = []
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

    @Test(arguments: [0, 150_000, file.count]) func downloadContinuesWhatIsHeld(heldBytes: Int) async throws {
        let (received, client) = try await download("file", held: Array(file[..<heldBytes]))
        #expect(received.bytes == file && received.starts == [heldBytes])
        #expect(client.metrics.requests == 1)
        let request = try #require(server.requests.first)
        #expect(request.target == "/file/main/a%20b.bin" && request.headers["accept-encoding"] == "identity")
        guard heldBytes < file.count else { return }
        #expect(client.metrics.bodyBytes == file.count - heldBytes)
        #expect(request.headers["range"] == (heldBytes == 0 ? nil : "bytes=\(heldBytes)-"))
    }

    @Test func heldBytesOfAnotherFileAreDiscarded() async throws {
        let (received, client) = try await download("file", held: [1, 2, 3])
        #expect(received.bytes == file)
        #expect(received.starts == [3, 0])
        #expect(client.metrics.requests == 2)
    }

    @Test func heldBytesBeyondTheFileAreRefused() async throws {
        let limit = file.count + 1
        let why = await reason { try await download("file", size: limit, held: file + [0]) }
        #expect(why?.code == .content && why?.description.contains("found 200000 bytes") == true)
        // The server does not have the requested range, and the whole file has the wrong size.
        #expect(server.requests.map { $0.headers["range"] } == ["bytes=200001-", nil])
    }

    @Test func brokenDownloadIsResumed() async throws {
        let (received, client) = try await download("file-breaks")
        #expect(received.bytes == file)
        // No delivered byte is transferred twice.
        #expect(client.metrics.bodyBytes == file.count)
        let offset = try #require(received.starts.last)
        #expect((1...70_000).contains(offset))
        #expect(server.requests.last?.headers["range"] == "bytes=\(offset)-")
        #expect(server.requests.last?.headers["if-range"] == "\"one\"")
    }

    @Test func downloadIsResumedSeveralTimes() async throws {
        let (received, client) = try await download("file-breaks-often")
        #expect(received.bytes == file)
        #expect(received.starts.count >= 3)
        #expect(client.metrics.bodyBytes == file.count)
    }

    @Test(arguments: ["file-breaks-no-ranges", "file-changed", "file-gone-range"])
    func downloadStartsAgainIfItCannotBeResumed(fault: String) async throws {
        let (received, _) = try await download(fault)
        #expect(received.bytes == file)
        #expect(received.starts.count >= 2 && received.starts.allSatisfy { $0 == 0 })
    }

    @Test func fileLongerThanTheRecordSaysIsRefused() async throws {
        #expect(await reason { try await download("file", size: 1000) } == .tooLarge(limit: 1000))
        #expect(await reason { try await download("file-endless", size: 1000) } == .tooLarge(limit: 1000))
        #expect(
            await reason { try await download("file", size: 199_999, held: Array(file[..<100])) }
                == .tooLarge(limit: 199_999))
    }

    @Test func missingZIPIsReported() async throws {
        let client = try server.client("ok")
        let base = try server.attachments(server.raw("HTTP/1.1 404 Not Found\r\n\r\n"), of: client)
        #expect(
            await reason { try await client.attachmentsZip(CollectionID("main/markets"), at: base) { _ in } }
                == .status(404, body: ""))
        #expect(server.requests.first?.target.hasSuffix("/bundles/main--markets.zip") == true)
    }

    struct DiskFull: Error {}

    @Test func receiversErrorEndsTheDownload() async throws {
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
        let client = try server.client("ok")
        let base = try server.attachments("file", of: client)
        let error = await #expect(throws: Failure.self) {
            try await client.attachment("../ok/v1/", at: base, size: 1, digest: Self.nothing) { _ in }
        }
        #expect(error?.reason == .badLocation("it contains a . or .. segment"))
        #expect(client.metrics.requests == 0)
    }
}
