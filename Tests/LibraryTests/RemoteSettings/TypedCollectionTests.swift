import Foundation
import RemoteSettingsTesting
import Testing

/// Collections embedded in the program, whose records are not optional.
@Suite struct TypedCollectionTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    private func embedded(_ values: Int...) throws -> (
        ServerCollection, TypedCollection<RemoteSettingsRecord>, PackagedSource
    ) {
        let collection = try place.collection()
        for value in values { try collection.put("r\(value)", ["value": value]) }
        let source = try place.server.packaged(collection)
        return (collection, TypedCollection(collection.id, in: source), source)
    }

    @Test func typedRecordsAreEmbeddedAndFollowSync() async throws {
        let (collection, embedded, source) = try embedded(1, 2)
        let service = place.service { $0.packaged = [source] }
        let client = service.makeClient(embedded)
        #expect(client.records.map(\.id) == ["r1", "r2"])
        #expect(place.server.requests.isEmpty)
        try collection.put("r3")
        try await client.client.sync()
        #expect(client.records.map(\.id) == ["r1", "r2", "r3"])
    }

    @Test func embeddedStateIgnoresConfiguration() throws {
        let (_, embedded, source) = try embedded(1)
        let service = place.service {
            $0.packaged = [source]
            $0.server = .custom(url: "https://elsewhere.example")
            $0.trustRoots = TrustAnchors([])
            $0.bucketName = "other"
        }
        #expect(service.makeClient(embedded).records.map(\.id) == ["r1"])
    }

    private struct Valued: TypedRecord, Decodable {
        let id: String
        let value: Int64
    }

    /// In records, queries and updates.
    @Test func typedReadsSkipUndecodableRecords() async throws {
        let (collection, embedded, source) = try embedded(1, 2)
        let service = place.service { $0.packaged = [source] }
        let client = service.makeClient(TypedCollection(embedded.name, of: Valued.self, in: source))
        var updates = client.updates().makeAsyncIterator()
        #expect(await updates.next()?.map(\.value) == [1, 2])
        #expect(client.records(matching: .init(where: ["value": 2])).map(\.id) == ["r2"])
        try collection.put("r1", ["value": "a text, since today"])
        try collection.put("r3", ["value": 3])
        let query = RemoteSettingsClient.Query(order: .descending("value"), sync: .always)
        #expect(try await client.fetchRecords(query).map(\.value) == [3, 2])
        #expect(await updates.next()?.map(\.value) == [2, 3])
        #expect(client.records.map(\.id) == ["r2", "r3"] && client.client.records?.count == 3)
    }

    @Test func embeddedFallbackFollowsAppContext() throws {
        let collection = try place.collection(with: ["for-beta": ["filter_expression": "env.channel == 'beta'"]])
        try collection.put("for-all")
        let source = try place.server.packaged(collection)
        func config(_ channel: String) -> RemoteSettingsConfig {
            place.config {
                $0.packaged = [source]
                $0.server = .custom(url: "https://elsewhere.example")
                $0.appContext = RemoteSettingsContext(channel: channel)
            }
        }
        let service = RemoteSettingsService(storageDirectory: place.storage, config: config("release"))
        let client = service.makeClient(TypedCollection(collection.id, in: source))
        #expect(client.records.count == 1)
        try service.updateConfig(config: config("beta"))
        #expect(client.records.count == 2)
    }

    #if DEBUG
    @Test func debugBuildStopsIfEmbeddedSourceIsMissing() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let server = try OriginTransport()
            let collection = try server.makeCollection()
            try collection.put("a")
            let service = RemoteSettingsService(config: RemoteSettingsConfig())
            _ = service.makeClient(TypedCollection(collection.id, in: try server.packaged(collection)))
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("to RemoteSettingsConfig.packaged"), "\(text)")
    }
    #endif

    @Test func requireNamesMissingCollections() async throws {
        let (collection, _, source) = try embedded(1)
        let service = place.service { $0.packaged = [source] }
        try service.require([collection.id])
        let error = #expect(throws: RemoteSettingsError.self) {
            try service.require([collection.id, "regoins", "a b"])
        }
        #expect("\(error as Any)".contains("regoins"), "\(error as Any)")
        #expect("\(error as Any)".contains("a b"))
    }
}
