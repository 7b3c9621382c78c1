import FaultyServer
import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

@Suite("Downloads over a real connection")
struct DownloadTests {

    /// A receiver of a download, which goes back to the offset of each start.
    struct Received {
        var bytes: [UInt8]
        var starts: [Int] = []
        var last: DownloadStart?

        init(_ bytes: [UInt8] = []) { self.bytes = bytes }

        mutating func take(_ part: DownloadPart) {
            switch part {
            case .start(let start):
                starts.append(start.offset)
                last = start
                bytes.removeLast(bytes.count - start.offset)
            case .bytes(let more):
                bytes += more
            }
        }
    }

    /// As many tries as it takes: how much of a broken answer arrives is chance.
    static let patient: Limits = {
        var limits = FaultyServer.limits
        limits.tries = 1000
        return limits
    }()

    func download(
        _ fault: String, from server: FaultyServer, limits: Limits = Self.patient, size: Int? = nil, held: [UInt8] = [],
        validator: String? = nil
    ) async throws -> (Received, ServerClient) {
        let client = try server.client("ok", limits: limits)
        let base = try server.attachments(fault, of: client)
        var received = Received(held)
        let resume = held.isEmpty ? nil : ResumePoint(offset: held.count, validator: validator)
        try await client.attachment("main/a b.bin", at: base, size: size, resume: resume) { received.take($0) }
        return (received, client)
    }

    @Test func whole() async throws {
        let server = try FaultyServer()
        let (received, client) = try await download("file", from: server, size: file.count)
        #expect(received.bytes == file)
        #expect(received.starts == [0])
        #expect(received.last == DownloadStart(offset: 0, size: file.count, validator: "\"one\""))
        #expect(client.metrics.bodyBytes == file.count)
        let request = try #require(server.requests.first)
        #expect(request.target == "/file/main/a%20b.bin")
        #expect(request.headers["accept-encoding"] == "identity")
        #expect(request.headers["range"] == nil)
    }

    @Test func resumed() async throws {
        let server = try FaultyServer()
        let (received, client) = try await download(
            "file", from: server, held: Array(file[..<150_000]), validator: "\"one\"")
        #expect(received.bytes == file)
        #expect(received.starts == [150_000])
        #expect(client.metrics.bodyBytes == 50_000)
        let request = try #require(server.requests.first)
        #expect(request.headers["range"] == "bytes=150000-")
        #expect(request.headers["if-range"] == "\"one\"")
    }

    @Test func resumedWithAnOldValidator() async throws {
        let server = try FaultyServer()
        let (received, _) = try await download("file", from: server, held: [1, 2, 3], validator: "\"old\"")
        #expect(received.bytes == file)
        #expect(received.starts == [0])
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
        let (received, client) = try await download("file", from: server, held: file + [0])
        #expect(received.bytes == file)
        #expect(received.starts == [0])
        #expect(client.metrics.requests == 2)
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
        guard case .badRange = why else {
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
            await reason { try await client.attachmentsZip(CollectionID("main/regions"), at: base) { _ in } }
                == .status(404, body: ""))
        #expect(server.requests.first?.target.hasSuffix("/bundles/main--regions.zip") == true)
    }

    struct DiskFull: Error {}

    @Test func receiversErrorEndsTheDownload() async throws {
        let server = try FaultyServer()
        let client = try server.client("ok")
        let base = try server.attachments("file-endless", of: client)
        await #expect(throws: DiskFull.self) {
            try await client.attachment("a", at: base) { part in
                if case .bytes = part { throw DiskFull() }
            }
        }
        #expect(client.metrics.requests == 1)
    }

    @Test func badLocationIsNotRequested() async throws {
        let server = try FaultyServer()
        let client = try server.client("ok")
        let base = try server.attachments("file", of: client)
        let error = await #expect(throws: HTTPError.self) {
            try await client.attachment("../ok/v1/", at: base) { _ in }
        }
        #expect(error?.reason == .badLocation("it has a . or .. segment"))
        #expect(client.metrics.requests == 0)
    }
}
