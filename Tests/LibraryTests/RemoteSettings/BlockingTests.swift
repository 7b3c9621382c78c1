import Dispatch
import Foundation
import RemoteSettingsBlocking
import RemoteSettingsTesting
import Testing

/// Code written for Mozilla's binding: blocking calls, and stand-ins for a client or service.
@Suite struct BlockingTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    private enum OwnError: Error { case broken }

    /// A stand-in, as in an app's tests for Mozilla's binding, with exactly the binding's requirements.
    private final class StandIn: RemoteSettingsClientProtocol {
        func collectionName() -> String { "stand-in" }
        func getRecords(syncIfEmpty: Bool) -> [RemoteSettingsRecord]? {
            syncIfEmpty ? [RemoteSettingsRecord(id: "a", lastModified: 1)] : nil
        }
        func getRecordsMap(syncIfEmpty: Bool) -> [String: RemoteSettingsRecord]? { [:] }
        func getLastModifiedTimestamp() -> UInt64? { nil }
        func getAttachment(record: RemoteSettingsRecord) throws -> Data { Data("icon".utf8) }
        func sync() throws {}
        func resetStorage() throws {}
        func shutdown() {}
    }

    private final class SubclassedClient: RemoteSettingsClient, @unchecked Sendable {
        init() { super.init(noHandle: NoHandle()) }

        required init(unsafeFromHandle handle: UInt64) { super.init(unsafeFromHandle: handle) }

        override func getRecords(syncIfEmpty: Bool) -> [RemoteSettingsRecord]? {
            [RemoteSettingsRecord(id: syncIfEmpty ? "synced" : "held", lastModified: 1)]
        }
        override func getAttachment(record: RemoteSettingsRecord) throws -> Data { throw OwnError.broken }
    }

    private struct Glean: RemoteSettingsTelemetry {
        func reportUptake(extras: UptakeEventExtras) {}
    }

    private final class SubclassedService: RemoteSettingsService, @unchecked Sendable {
        var telemetry: (any RemoteSettingsTelemetry)?

        init() { super.init(noHandle: NoHandle()) }

        required init(unsafeFromHandle handle: UInt64) { super.init(unsafeFromHandle: handle) }

        override func setTelemetry(telemetry: any RemoteSettingsTelemetry) { self.telemetry = telemetry }
        override func makeClient(collectionName: String) -> RemoteSettingsClient { SubclassedClient() }
    }

    /// Uses a client only through its protocol, as an app does.
    private func list(_ client: RemoteSettingsClientProtocol) -> Data? {
        guard let records = client.getRecords(syncIfEmpty: true), let list = records.first(where: { $0.id == "a" }),
            (try? client.sync()) != nil, client.getRecordsMap(syncIfEmpty: true) != nil
        else { return nil }
        return try? client.getAttachment(record: list)
    }

    @Test func blockingClientThroughItsProtocol() throws {
        let collection = try place.collection(attaching: ["a": "icon"])
        let service: RemoteSettingsServiceProtocol = RemoteSettingsService(place.service())
        let client = service.makeClient(collectionName: collection.name)
        #expect(list(client) == Data("icon".utf8))
        #expect(try service.sync() == [])
        let standIn: RemoteSettingsClientProtocol = StandIn()
        #expect(list(standIn) == Data("icon".utf8) && standIn.getRecords() == nil)
    }

    @Test func subclassesReplaceClientAndService() throws {
        let service = SubclassedService()
        let client: RemoteSettingsClientProtocol = (service as RemoteSettingsServiceProtocol).makeClient(
            collectionName: "markets")
        #expect(client.getRecords()?.map(\.id) == ["held"])
        #expect(client.getRecords(syncIfEmpty: true)?.map(\.id) == ["synced"])
        #expect(throws: OwnError.broken) {
            try client.getAttachment(record: RemoteSettingsRecord(id: "a", lastModified: 1))
        }
        service.setTelemetry(telemetry: Glean())
        #expect(service.telemetry is Glean)
    }

    #if os(Linux)
    /// Callers block every thread of Swift's pool, in a process limited to these cores.
    @Test(arguments: ["0", "0,1"]) func blockingCallsOnAllThreadsEnd(cores: String) async throws {
        let (status, output) = try await run(cores, ["2", "6", "40"])
        #expect(status == 0 && output.split(separator: "\n").count == 12, "\(output)")
    }

    /// On systems where tasks cannot choose their threads, calls on queues finish, and a call in a task stops the
    /// process with an explanation.
    @Test(arguments: ["0", "0,1"]) func olderSystemsBlockOnQueuesOnly(cores: String) async throws {
        let (status, output) = try await run(cores, ["--old-system", "12"])
        #expect(status != 0 && output.hasPrefix("12 queues\n12 main\n"), "\(output)")
        #expect(output.contains("RemoteSettingsBlocking was made in a task"), "\(output)")
    }

    private func run(_ cores: String, _ arguments: [String]) async throws -> (status: Int32, output: String) {
        let output = place.path("output")
        _ = FileManager.default.createFile(atPath: output, contents: nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/taskset")
        // On a busy machine, the backtrace of the expected crash takes minutes.
        let quiet = ["env", "SWIFT_BACKTRACE=enable=no"]
        process.arguments = ["-c", cores] + quiet + [TestProcess.url.path, "blocking"] + arguments
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
        (process.standardOutput, process.standardError) = (file, file)
        try process.run()
        let end = ContinuousClock.now + .seconds(120)
        while process.isRunning, .now < end { try await Task.sleep(for: .milliseconds(20)) }
        let text = try String(contentsOfFile: output, encoding: .utf8)
        // In a deadlock, the process never exits.
        #expect(!process.isRunning, "\(text)")
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        return (process.terminationStatus, try String(contentsOfFile: output, encoding: .utf8))
    }
    #endif

    @Test func serviceWithoutHandleIsInert() {
        let service = RemoteSettingsService(noHandle: RemoteSettingsService.NoHandle())
        let client = service.makeClient(collectionName: "markets")
        #expect(client.getRecords(syncIfEmpty: true) == nil && client.getLastModifiedTimestamp() == nil)
        #expect(throws: RemoteSettingsError.self) { try client.sync() }
        #expect(throws: RemoteSettingsError.self) { try service.sync() }
        let alone = RemoteSettingsClient(noHandle: RemoteSettingsClient.NoHandle())
        #expect(alone.getRecordsMap(syncIfEmpty: true) == nil)
        #expect(throws: RemoteSettingsError.self) { try alone.sync() }
    }
}
