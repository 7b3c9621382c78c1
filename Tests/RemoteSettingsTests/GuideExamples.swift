import Foundation
import RemoteSettings
import Testing

/// Calls as an app makes them, by the names and shapes of Mozilla's Swift binding, with `await` and `try` where its calls
/// would block. That this compiles is what it is for; it is also run, offline.
@Suite struct GuideExamples {
    private let storage = FileManager.default.temporaryDirectory.appending(path: "rs-guide-\(UUID().uuidString)").path

    @Test func makingAService() throws {
        let config = RemoteSettingsConfig(server: .stage, bucketName: "main", appContext: nil)
        let older = RemoteSettingsConfig2(server: .custom(url: "https://settings.example.org"))
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
        #expect(service.makeClient(collection: "regions").collectionName() == "regions")
    }

    @Test func readingRecords() async {
        let service = RemoteSettingsService(storageDir: storage, config: RemoteSettingsConfig())
        let client = service.makeClient(collectionName: "search-telemetry-v2")
        if let records: [RemoteSettingsRecord] = client.getRecords() {
            for record in records {
                let id: String = record.id
                let lastModified: UInt64 = record.lastModified
                let deleted: Bool = record.deleted
                let attachment: RemoteSettings.Attachment? = record.attachment
                let fields: String = record.fields
                print(id, lastModified, deleted, attachment?.location ?? "-", fields)
            }
        }
        let byID: [String: RemoteSettingsRecord]? = client.getRecordsMap()
        let timestamp: UInt64? = client.getLastModifiedTimestamp()
        #expect(byID == nil)
        #expect(timestamp == nil)
        client.shutdown()
        let afterwards = await client.getRecords(syncIfEmpty: true)
        #expect(afterwards == nil)
    }

    @Test func syncingAndErrors() async throws {
        var config = RemoteSettingsConfig(transport: NoTransport())
        config.limits.tries = 1
        let service = RemoteSettingsService(storageDir: storage, config: config)
        service.setTelemetry(telemetry: Uptake())
        let client = service.makeClient(collectionName: "regions")
        do {
            let names: [String] = try await service.sync()
            try await client.sync()
            Issue.record("synced \(names) without a network")
        } catch .Network(let reason) {
            #expect(reason.contains("offline"))
        } catch .Backoff(let seconds) {
            Issue.record("backoff of \(seconds)")
        } catch .Other(let reason) {
            Issue.record("\(reason)")
        }
        try client.resetStorage()
        service.shutdown()
    }

    @Test func attachments() async {
        let service = RemoteSettingsService(storageDir: storage, config: RemoteSettingsConfig())
        let client = service.makeClient(collectionName: "regions")
        for record in client.getRecords() ?? [] {
            let data: Data? = try? await client.getAttachment(record: record)
            #expect(data != nil)
        }
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

    @Test func decoding() throws {
        let service = RemoteSettingsService(storageDir: storage, config: RemoteSettingsConfig())
        let client = service.makeClient(collectionName: "regions")
        #expect(try client.records(as: Region.self) == nil)
        let first = try client.getRecords()?.first?.decode(as: Region.self)
        #expect(first == nil)
    }

    /// Names that no collection can have are answered, not trapped.
    @Test func impossibleNames() async {
        let client = RemoteSettingsService(storageDir: storage, config: RemoteSettingsConfig())
            .makeClient(collectionName: "../../etc/passwd")
        #expect(client.getRecords() == nil)
        #expect(client.snapshot.source == .none)
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        #expect(throws: RemoteSettingsError.self) { try client.resetStorage() }
    }

    private struct Uptake: RemoteSettingsTelemetry {
        func reportUptake(_ event: UptakeEvent) {
            #expect(event.status == .networkError)
        }
    }
}
