import Foundation
import RemoteSettingsTesting
import Testing

/// Every public name of Mozilla's Swift binding, used as in apps. Half of the test is that this compiles.
@Suite struct BindingNamesTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    private final class GleanTelemetry: RemoteSettingsTelemetry {
        func reportUptake(_ event: UptakeEvent) { #expect(!event.source.isEmpty) }
    }

    private var context: RemoteSettingsContext {
        RemoteSettingsContext(
            channel: "release", appVersion: "150.0", appId: "org.mozilla.ios.Firefox", locale: "de-DE", os: "iOS",
            osVersion: "26.1", formFactor: "phone", country: "DE", distribution: nil,
            customTargettingAttributes: ["cohort": "a"])
    }

    /// A service for `main/search-config-icons`, with one icon.
    private func service() throws -> RemoteSettingsService {
        let collection = try place.server.makeCollection(id: "main/search-config-icons")
        try collection.put("a", ["fromLang": "de", "file_type": "lex"])
        try collection.attach(Data("icon".utf8), to: "a")
        return place.service { $0.appContext = context }
    }

    @Test func valuesHaveTheBindingsNames() {
        let config = RemoteSettingsConfig(server: .prod, bucketName: "main", appContext: context)
        let older = RemoteSettingsConfig()
        #expect(config.server == .prod && config.bucketName == "main" && config.appContext == context)
        #expect(older.server == nil && older.bucketName == nil && older.appContext == nil)
        let servers: [RemoteSettingsServer] = [.prod, .stage, .dev, .custom(url: "https://settings.example.org/v1")]
        #expect(Set(servers).count == 4)
        let context = context
        #expect(
            [
                context.channel, context.appVersion, context.appId, context.locale, context.os, context.osVersion,
                context.formFactor, context.country, context.distribution,
            ].compactMap { $0 }.count == 8 && context.customTargettingAttributes?.count == 1)
        let attachment = RemoteSettingsAttachment(filename: "a", mimetype: "b", location: "c", hash: "d", size: 5)
        #expect(
            [attachment.filename, attachment.mimetype, attachment.location, attachment.hash] == ["a", "b", "c", "d"])
        let fields = #"{"a":1}"#
        let record = RemoteSettingsRecord(id: "a", lastModified: 1, deleted: false, attachment: nil, fields: fields)
        #expect(record.id == "a" && record.lastModified == 1 && !record.deleted && record.attachment == nil)
        #expect(record.fields == fields && attachment.size == 5)
        // This replaces `SyncStatus`.
        #expect(UptakeEvent.Status(rawValue: "up_to_date") == .upToDate)
    }

    @Test func serviceFollowsItsConfiguration() throws {
        let packaged = PackagedSource.bundleResource(Bundle.main.resourcePath, trusted: true)
        let config = RemoteSettingsConfig(server: .prod, appContext: context, packaged: [packaged])
        let service = RemoteSettingsService(storageDirectory: place.storage, config: config)
        service.telemetry = GleanTelemetry()
        let own = RemoteSettingsConfig(
            server: .custom(url: "https://settings.example.org/"),
            trustRoots: try TrustAnchors(parsing: [String(repeating: "ab", count: 32)]))
        #expect(service.serverURL == "https://firefox.settings.services.mozilla.com/v2")
        for (config, url) in [
            (own, "https://settings.example.org/v2"),
            (RemoteSettingsConfig(server: .stage), "https://firefox.settings.services.allizom.org/v2"),
            (RemoteSettingsConfig(), "https://firefox.settings.services.mozilla.com/v2"),
        ] {
            try service.updateConfig(config: config)
            #expect(service.serverURL == url)
        }
        #expect(throws: RemoteSettingsError.self) {
            try service.updateConfig(config: RemoteSettingsConfig(server: .custom(url: "http://settings.example.org")))
        }
    }

    private enum Collection: String {
        case icons = "search-config-icons"

        func makeClient(_ service: RemoteSettingsService) -> RemoteSettingsClient {
            service.makeClient(collectionName: rawValue)
        }
    }

    private struct Model: Decodable {
        let id: String
        let fileType: String
    }

    @Test func syncReadsAndAttachments() async throws {
        let service = try service()
        let client = Collection.icons.makeClient(service)
        let changes = client.changes()
        #expect(try await service.sync(trigger: .timer).contains("search-config-icons"))
        for await change in changes {
            #expect(change.current.map(\.id) == ["a"])
            break
        }
        try await client.sync()
        #expect(client.collectionName == "search-config-icons")
        let records = try await client.fetchRecords(.init(where: ["fromLang": .string("de")], sync: .ifEmpty))
        #expect(records.map(\.lastModified) == [client.getLastModifiedTimestamp()])
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        #expect(try records.map { try $0.decode(as: Model.self, decoder: decoder) }.map(\.fileType) == ["lex"])
        let file = try await client.attachmentFile(for: records[0]) { progress in #expect(progress.received > 0) }
        #expect(try Data(contentsOf: file.url) == Data("icon".utf8))
        try client.removeAttachment(for: records[0])
        _ = try await client.downloadAttachments()
        #expect(try await client.getAttachment(record: records[0]) == Data("icon".utf8))
        client.shutdown()
        try await client.resetStorage()
    }
}
