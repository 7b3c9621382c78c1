#if RemoteSettingsConfiguration
import Configuration
import ConfigurationTesting
import RemoteSettings
import RemoteSettingsConfiguration
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

struct RemoteSettingsProviderTests {
    private let server: OriginTransport
    private let collection: ServerCollection
    private let service: RemoteSettingsService

    init() throws {
        server = try OriginTransport()
        collection = try server.makeCollection()
        var config = server.config
        config.log = { _ in }
        service = RemoteSettingsService(config: config)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    private func synced() async throws -> RemoteSettingsProvider {
        let client = service.makeClient(collectionName: collection.name)
        try await client.sync()
        return RemoteSettingsProvider(client: client)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func providerPassesConformanceTest() async throws {
        let values: [String: Any] = [
            "string": "Hello", "int": 42, "double": 3.14, "bool": true, "bytes": "bWFnaWM=",
            "stringy.array": ["Hello", "World"], "inty.array": [42, 24], "doubly.array": [3.14, 2.72],
            "booly.array": [true, false], "byteChunky.array": ["bWFnaWM=", "bWFnaWMy"],
        ]
        let others: [String: Any] = [
            "string": "Other Hello", "int": 24, "double": 2.72, "bool": false, "bytes": "bWFnaWMy",
            "stringy.array": ["Hello", "Swift"], "inty.array": [16, 32], "doubly.array": [0.9, 1.8],
            "booly.array": [false, true, true], "byteChunky.array": ["bWFnaWM=", "bWFnaWMy", "bWFnaWM="],
        ]
        for (key, value) in values { try collection.put(parameter: key, value) }
        for (key, value) in others { try collection.put(parameter: "other.\(key)", value) }
        try await ProviderCompatTest(provider: try await synced()).runTest()
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func providerConvertsOnlyTexts() async throws {
        for (key, value) in ["n": "24", "t": "true", "yes": "yes", "one": 1, "half": 1.5, "null": "x"] as [String: Any]
        {
            try collection.put(parameter: key, value)
        }
        let config = ConfigReader(provider: try await synced())
        #expect(try config.requiredInt(forKey: "n") == 24)
        #expect(try config.requiredBool(forKey: "t"))
        #expect(try config.requiredDouble(forKey: "one") == 1)
        for call in [
            { _ = try config.requiredBool(forKey: "yes") }, { _ = try config.requiredBool(forKey: "one") },
            { _ = try config.requiredInt(forKey: "half") }, { _ = try config.requiredString(forKey: "one") },
            { _ = try config.requiredStringArray(forKey: "n") },
        ] {
            #expect(throws: (any Error).self) { try call() }
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func providerContextPerCall() async throws {
        try collection.put(parameter: "flag", false)
        try collection.put(parameter: "flag", true, filter: "env.country == 'de' && env.seats > 5")
        let config = ConfigReader(provider: try await synced())
        #expect(try config.requiredBool(forKey: "flag") == false)
        #expect(try config.requiredBool(forKey: ConfigKey("flag", context: ["country": "de", "seats": 6])))
        #expect(try !config.requiredBool(forKey: ConfigKey("flag", context: ["country": "fr", "seats": 6])))
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func providerSecretsAreRedacted() async throws {
        try collection.put(parameter: "token", ["abc"])
        let client = service.makeClient(collectionName: collection.name)
        try await client.sync()
        let provider = RemoteSettingsProvider(client: client, secrets: .specific(["token"]))
        let found = try provider.value(forKey: AbsoluteConfigKey(["token"]), type: .stringArray)
        #expect(found.value?.isSecret == true)
        let error = #expect(throws: (any Error).self) {
            try provider.value(forKey: AbsoluteConfigKey(["token"]), type: .int)
        }
        #expect("\(error as Any)".contains("a secret") && !"\(error as Any)".contains("abc"))
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func providerSnapshotIsOneState() async throws {
        try collection.put(parameter: "a", 1)
        try collection.put(parameter: "b", 1)
        let provider = try await synced()
        let before = provider.snapshot()
        try collection.put(parameter: "a", 2)
        try collection.put(parameter: "b", 2)
        _ = try await provider.fetchValue(forKey: AbsoluteConfigKey(["a"]), type: .int)
        func value(_ snapshot: any ConfigSnapshot, _ key: String) throws -> ConfigContent? {
            try snapshot.value(forKey: AbsoluteConfigKey([key]), type: .int).value?.content
        }
        #expect(try value(before, "a") == .int(1) && value(before, "b") == .int(1))
        #expect(try value(provider.snapshot(), "a") == .int(2))
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func providerFetchesManyKeysWithOneSync() async throws {
        let keys = (0..<20).map { "key\($0)" }
        for key in keys { try collection.put(parameter: key, key) }
        let provider = RemoteSettingsProvider(client: service.makeClient(collectionName: collection.name))
        for key in keys {
            let found = try await provider.fetchValue(forKey: AbsoluteConfigKey([key]), type: .string)
            #expect(found.value?.content == .string(key))
        }
        #expect(server.polls.count == 1)
        // A failed sync is not repeated for each key either.
        server.inject([Fault("monitor", effect: .status(500))])
        let other = RemoteSettingsProvider(client: service.makeClient(collectionName: collection.name))
        let before = server.polls.count
        var costs: Set<Int> = []
        for key in keys {
            await #expect(throws: RemoteSettingsError.self) {
                try await other.fetchValue(forKey: AbsoluteConfigKey([key]), type: .string)
            }
            costs.insert(server.polls.count - before)
        }
        #expect(costs.count == 1)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func providerWatchSeesEachChangeOnce() async throws {
        try collection.put(parameter: "a", 1)
        let provider = try await synced()
        let client = service.makeClient(collectionName: collection.name)
        let seen = Mutex<[Int]>([])
        try await provider.watchValue(forKey: AbsoluteConfigKey(["a"]), type: .int) { updates in
            for await update in updates {
                guard case .int(let value)? = try update.get().value?.content else { continue }
                seen.withLock { $0.append(value) }
                if value == 3 { break }
                // Another parameter changes in between.
                try collection.put(parameter: "b", value)
                try await client.sync()
                try collection.put(parameter: "a", value + 1)
                try await client.sync()
            }
        }
        #expect(seen.withLock { $0 } == [1, 2, 3])
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func providerWithoutStateFallsThrough() throws {
        let client = service.makeClient(collectionName: collection.name)
        let config = ConfigReader(providers: [
            RemoteSettingsProvider(client: client), InMemoryProvider(values: ["a": 7]),
        ])
        #expect(config.int(forKey: "a") == 7)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test func providerRefusesNonParameterRecords() async throws {
        try collection.put("a", ["name": "x"])
        let provider = try await synced()
        #expect(throws: (any Error).self) { try provider.value(forKey: AbsoluteConfigKey(["a"]), type: .int) }
        #expect(throws: (any Error).self) {
            try provider.snapshot().value(forKey: AbsoluteConfigKey(["a"]), type: .int)
        }
    }
}
#endif
