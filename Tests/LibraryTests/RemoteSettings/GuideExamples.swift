import Foundation
import RemoteSettings
import Testing

/// Calls as an app makes them, by the names and shapes of Mozilla's Swift binding, with `await` and `try` where its
/// calls would block. That this compiles is half of the test; it is also run, against a server in memory or offline.
@Suite struct GuideExamples {
    private let place: Workplace
    private let storage = FileManager.default.temporaryDirectory.appending(path: "rs-guide-\(UUID().uuidString)").path

    init() throws { place = try Workplace() }

    @Test func makingAService() throws {
        let config = RemoteSettingsConfig(server: .stage, bucketName: "main", appContext: nil)
        let older = RemoteSettingsConfig(
            server: .custom(url: "https://settings.example.org"), trustRoots: place.server.root)
        let service = RemoteSettingsService(storageDir: storage, config: config)
        #expect(service.clientUrl() == "https://firefox.settings.services.allizom.org/v2")
        try service.updateConfig(config: older)
        #expect(service.clientUrl() == "https://settings.example.org/v2")
        try service.updateConfig(config: RemoteSettingsConfig())
        #expect(service.clientUrl() == "https://firefox.settings.services.mozilla.com/v2")
        #expect(throws: RemoteSettingsError.self) {
            try service.updateConfig(config: RemoteSettingsConfig(server: .custom(url: "http://settings.example.org")))
        }
    }

    @Test func aContext() {
        var context = RemoteSettingsContext(
            channel: "beta", appVersion: "150.0", appId: "org.example.app", locale: "de-DE", os: "iOS",
            osVersion: "26.1", formFactor: "phone", country: "DE", customTargettingAttributes: ["cohort": "a"])
        context.customTargettingAttributes = nil
        let service = RemoteSettingsService(
            storageDir: storage, config: RemoteSettingsConfig(server: .prod, appContext: context))
        #expect(service.makeClient(collectionName: "regions").collectionName() == "regions")
    }

    /// A client that has synced two records of main/regions, the second one with an attachment.
    private func syncedClient() async throws -> RemoteSettingsClient {
        let regions = try place.server.makeCollection(id: "main/regions")
        try regions.put("a", ["name": "Nowhere"])
        try regions.attach(Data("a map".utf8), to: "b")
        let client = place.service().makeClient(collectionName: "regions")
        try await client.sync()
        return client
    }

    @Test func readingRecords() async throws {
        let client = try await syncedClient()
        var seen: [String] = []
        if let records: [RemoteSettingsRecord] = client.getRecords() {
            for record in records {
                let id: String = record.id
                let lastModified: UInt64 = record.lastModified
                let deleted: Bool = record.deleted
                let attachment: RemoteSettingsAttachment? = record.attachment
                let fields: String = record.fields
                #expect(lastModified > 0 && !deleted)
                seen.append("\(id) \(attachment?.filename ?? "-") \(fields.contains("Nowhere"))")
            }
        }
        #expect(seen == ["a - true", "b f.bin false"])
        let byID: [String: RemoteSettingsRecord]? = client.recordsByID
        let timestamp: UInt64? = client.getLastModifiedTimestamp()
        #expect(byID?.count == 2)
        #expect(timestamp == byID?["b"]?.lastModified)
    }

    @Test func readingWhereNothingIsHeld() async {
        let client = RemoteSettingsService(storageDir: storage, config: RemoteSettingsConfig())
            .makeClient(collectionName: "search-telemetry-v2")
        #expect(client.getRecords() == nil)
        #expect(client.recordsByID == nil)
        #expect(client.getLastModifiedTimestamp() == nil)
        client.shutdown()
        let afterwards = await client.recordsOrSync()
        #expect(afterwards == nil)
    }

    @Test func syncingAndErrors() async throws {
        var config = RemoteSettingsConfig()
        config.transport = NoTransport()
        config.limits.tries = 1
        let service = RemoteSettingsService(storageDir: storage, config: config)
        let client = service.makeClient(collectionName: "regions")
        // One report is of the monitor, the other one of the whole service.
        let isNetwork = try await confirmation("reports", expectedCount: 2) { reported in
            service.setTelemetry(telemetry: Uptake(reported: reported))
            return try await failsToReachTheNetwork(service, client)
        }
        #expect(isNetwork)
        try await client.resetStorage()
        service.shutdown()
    }

    private func failsToReachTheNetwork(
        _ service: RemoteSettingsService, _ client: RemoteSettingsClient
    ) async throws -> Bool {
        do {
            let names: [String] = try await service.sync()
            try await client.sync()
            Issue.record("synced \(names) without a network")
        } catch .offline(let reason) {
            return reason.contains("offline")
        } catch .backoff(let pause) {
            Issue.record("backoff of \(pause)")
        } catch {
            Issue.record("\(error)")
        }
        return false
    }

    @Test func attachments() async throws {
        let client = try await syncedClient()
        var contents: [String: Data] = [:]
        for record in client.getRecords() ?? [] where record.attachment != nil {
            let data: Data? = try? await client.getAttachment(record: record)
            contents[record.id] = data
        }
        #expect(contents == ["b": Data("a map".utf8)])
        let error = await #expect(throws: RemoteSettingsError.self) {
            try await client.getAttachment(location: "main-workspace/regions/a.json")
        }
        #expect(error.map { "\($0)" }?.contains("main-workspace/regions/a.json") == true)
    }

    private struct Region: Decodable, Identifiable {
        let id: String
        let last_modified: UInt64
        let name: String?
    }

    @Test func decoding() async throws {
        let client = try await syncedClient()
        let regions: [Region]? = try client.records(as: Region.self)
        #expect(regions?.map(\.name) == ["Nowhere", nil])
        let first = try client.getRecords()?.first?.decode(as: Region.self)
        #expect(first?.id == "a")
        #expect(first?.last_modified == client.getRecords()?.first?.lastModified)
        let empty = RemoteSettingsService(storageDir: storage, config: RemoteSettingsConfig())
            .makeClient(collectionName: "regions")
        #expect(try empty.records(as: Region.self) == nil)
    }

    /// Names that no collection can have are answered, not trapped.
    @Test func impossibleNames() async {
        let client = RemoteSettingsService(storageDir: storage, config: RemoteSettingsConfig())
            .makeClient(collectionName: "../../etc/passwd")
        #expect(client.getRecords() == nil)
        #expect(client.status.source == .notHeld)
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        await #expect(throws: RemoteSettingsError.self) { try await client.resetStorage() }
    }

    private struct Uptake: RemoteSettingsTelemetry {
        let reported: Confirmation

        func reportUptake(_ event: UptakeEvent) {
            #expect(event.status == .networkError)
            reported()
        }
    }
}
