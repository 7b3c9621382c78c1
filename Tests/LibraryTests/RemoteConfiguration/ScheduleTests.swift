import Foundation
import RemoteConfiguration
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Scheduled fetches, and the stream of active values.
struct ScheduleTests {
    let place: ConfigPlace

    init() throws {
        place = try ConfigPlace()
        place.freeze()
        place.chance(0)
        try place.put("a", 1)
    }

    /// Simulates a newly started process. Sleeping until the next fetch advances the test clock.
    private func start() -> RemoteConfig {
        let config = place.start(interval: 43_200) {
            $0.environment.sleep = { duration in
                // The fetch timeout and retry delays use real time.
                guard duration >= .seconds(50) else { return try await Task.sleep(for: min(duration, .seconds(45))) }
                try Task.checkCancellation()
                self.place.pass(seconds: Double(duration.components.seconds))
            }
            $0.limits.tries = 1
        }
        config.configSettings.fetchTimeout = 45
        return config
    }

    /// The number of requests for the server's list of collections.
    private var asked: Int { place.server.requests.count { $0.path.contains("/monitor/") } }

    @Test func configScheduleFetchesOnceADay() async throws {
        let began = place.now
        for _ in 0..<200 {
            let config = start()
            let schedule = Task {
                for await result in config.fetches(every: .seconds(86_400)) {
                    #expect(throws: Never.self) { try result.get() }
                    break
                }
            }
            // From the second start on, the schedule sleeps until the next fetch is due, which advances the clock.
            await schedule.value
            if place.now.elapsed(since: began) > .seconds(5 * 86_400) { break }
        }
        // One request at the beginning, then one a day.
        #expect(asked == Int(place.now.elapsed(since: began).components.seconds / 86_400) + 1)
    }

    @Test func resetStorageForgetsSchedule() async throws {
        let config = start()
        for await _ in config.fetches(every: .seconds(86_400)) { break }
        #expect((try place.index()["schedules"] as? [String: Any])?[place.collection.id] != nil)
        let service = RemoteSettingsService(storageDirectory: place.storage, config: place.config())
        try await service.makeClient(collectionName: place.collection.name).resetStorage()
        #expect((try place.index()["schedules"] as? [String: Any])?[place.collection.id] == nil)
    }

    @Test func configRunActivatesFetchedValues() async throws {
        let config = start()
        let values = config.activations
        let running = Task { await config.run(every: .seconds(86_400)) }
        for await value in values where value["a"].stringValue == "1" { break }
        running.cancel()
        await running.value
        #expect(config["a"].stringValue == "1")
    }

    @Test func activationsBeginWithTheCurrentValues() async throws {
        let config = start()
        config.setDefaults(["a": 0])
        var activations = config.activations.makeAsyncIterator()
        #expect(await activations.next()?["a"].stringValue == "0")
        try await config.fetchAndActivate()
        #expect(await activations.next()?["a"].stringValue == "1")
        // Unread activations are merged into one with the newest values.
        for value in 2...4 {
            try place.put("a", value)
            try await config.fetch(withExpirationDuration: 0)
            try await config.activate()
        }
        #expect(await activations.next()?["a"].stringValue == "4")
    }

    @Test func streamsEndWithTheRemoteConfig() async throws {
        var config: RemoteConfig? = start()
        let activations = try #require(config?.activations)
        var updates = try #require(config?.configUpdates).makeAsyncIterator()
        config = nil
        #expect(try await updates.next() == nil)
        var count = 0
        for await _ in activations { count += 1 }
        #expect(count <= 1)
    }

    /// `RemoteConfigProperty` reads the values that a test sets.
    @Test func configPropertyReadsTestValues() {
        struct Page {
            @RemoteConfigProperty var title: String

            init(_ config: any RemoteConfigReading) {
                _title = RemoteConfigProperty(key: "title", fallback: "none", config: config)
            }
        }
        let config = TestRemoteConfig(["title": "Welcome"])
        let page = Page(config)
        #expect(page.title == "Welcome")
        config.set("Goodbye", forKey: "title")
        #expect(page.title == "Goodbye" && Page(TestRemoteConfig()).title == "none")
    }
}
