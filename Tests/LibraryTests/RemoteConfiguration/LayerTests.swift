import Foundation
import RemoteConfiguration
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Sources of values, and when values change.
struct LayerTests {
    let place: ConfigPlace

    init() throws { place = try ConfigPlace() }

    /// Adds defaults, packaged values and remote values one after another, then restarts offline.
    @Test func remoteWinsOverPackagedAndDefaults() async throws {
        try place.put(all: ["a": "packaged a", "b": "packaged b"])
        let packaged = try await place.package()
        let bare = place.start { $0.transport = NoNetwork() }
        #expect(bare["a"].source == .static)
        #expect(bare.text("a") == "" && !bare["a"].boolValue && bare["a"].numberValue == 0)
        #expect(bare["a"].dataValue.isEmpty && bare["a"].jsonValue == nil)
        bare.setDefaults(["a": "default a", "d": "default d"])
        #expect(bare["a"].source == .default && bare.text("a") == "default a")

        let config = place.start { $0.packaged = [packaged] }
        config.setDefaults(["a": "default a", "d": "default d"])
        #expect(config["a"].source == .packaged && config.text("a") == "packaged a")
        #expect(config["d"].source == .default && config["x"].source == .static)
        #expect(config.allKeys(from: .packaged) == ["a", "b"] && config.allKeys(from: .remote) == [])
        #expect(config.allKeys(from: .default) == ["a", "d"] && config.allKeys(from: .static) == [])
        #expect(config.defaultValue(forKey: "a")?.stringValue == "default a")
        #expect(config.defaultValue(forKey: "b") == nil)
        #expect(config.configValue(forKey: "a", source: .default).stringValue == "default a")
        #expect(config.configValue(forKey: "a", source: .packaged).stringValue == "packaged a")
        #expect(config.configValue(forKey: "a", source: .remote).source == .static)
        #expect(config.configValue(forKey: "a", source: .static).source == .static)

        try place.put(all: ["a": "remote a", "c": "remote c"])
        place.collection.delete("b")
        #expect(try await config.fetch() == .success)
        #expect(config.text("a") == "packaged a", "fetched values are not active yet")
        #expect(config.status.waiting == ["a", "b", "c"])
        #expect(try await config.activate())
        #expect(try await config.activate() == false)
        #expect(config["a"].source == .remote && config.text("a") == "remote a" && config.text("c") == "remote c")
        #expect(config["b"].source == .static, "a removed parameter does not fall back to an older state")
        #expect(config.configValue(forKey: "a", source: .packaged).stringValue == "packaged a")
        #expect(config.allKeys(from: .packaged) == ["a", "b"])
        #expect(config["d"].source == .default)
        #expect(config.keys(withPrefix: nil) == ["a", "c"] && config.keys(withPrefix: "") == ["a", "c"])
        #expect(config.keys(withPrefix: "c") == ["c"] && config.keys(withPrefix: "d") == [])
        config.setDefaults(nil)
        #expect(config["d"].source == .static)

        let later = place.start {
            $0.packaged = [packaged]
            $0.transport = NoNetwork()
        }
        #expect(later.text("a") == "remote a" && later["a"].source == .remote)
        // Newer values packaged with an app update take effect at the first launch.
        try place.put("a", "packaged later")
        let newer = try await place.package(as: "newer")
        let updated = place.start {
            $0.packaged = [newer]
            $0.transport = NoNetwork()
        }
        #expect(updated["a"].source == .packaged && updated.text("a") == "packaged later")
        #expect(try await updated.activate() == false)
        #expect(updated.text("a") == "packaged later")
    }

    @Test func configStatusExplainsFetches() async throws {
        try place.put("a", 1)
        let packaged = try await place.package()
        let config = place.start(interval: 3600) { $0.packaged = [packaged] }
        var status = config.status
        #expect(status.active?.source == .packaged && status.fetched == status.active)
        #expect(status.lastFetchStatus == .noFetchYet && status.lastFetch == nil && status.nextFetch == nil)
        #expect(config.lastFetchTime == nil && config.lastFetchStatus == .noFetchYet)
        try place.put("a", 2)
        place.freeze()
        try await config.fetch()
        status = config.status
        #expect(status.active?.source == .packaged && status.fetched?.source == .remote)
        #expect(status.waiting == ["a"])
        #expect(status.fetched?.provenance.verdict?.root == place.server.root.roots.first)
        #expect(status.lastFetch == place.now && status.lastFetchStatus == .success)
        #expect(status.nextFetch == place.now.advanced(by: .seconds(3600)))
        let fetched = try #require(config.lastFetchTime).timeIntervalSince1970
        #expect(abs(fetched - Double(place.now.milliseconds) / 1000) < 0.01)
        try await config.activate()
        status = config.status
        #expect(status.active?.source == .remote && status.waiting.isEmpty && status.problems.isEmpty)
        #expect(status.active?.age == place.now.elapsed(since: try #require(status.active?.timestamp)))
        #expect(status.description.contains("active: remote, "))
    }

    /// Records that are not parameters are refused with an error that lists them; the active values remain.
    @Test func nonParameterRecordsAreRefused() async throws {
        try place.put("a", 1)
        let config = place.start()
        try await config.fetchAndActivate()
        try place.collection.put("stranger", ["name": "x"])
        for _ in 0..<2 {
            let error = await #expect(throws: RemoteConfigError.self) { try await config.fetch() }
            guard case .notParameters(let reason)? = error else { throw try #require(error) }
            #expect(reason.contains("stranger") && reason.contains(place.collection.name))
            await #expect(throws: RemoteConfigError.self) { try await config.activate() }
        }
        #expect(config.text("a") == "1")
        #expect(place.start().text("a") == "1")
        #expect(config.status.problems.contains { $0.contains("stranger") })
        place.collection.delete("stranger")
        try place.put("a", 2)
        try await config.fetchAndActivate()
        #expect(config.text("a") == "2")
    }

    /// As in Flurry's simple mode, fetched values take effect only at the next start.
    @Test func configActivationOnNextStart() async throws {
        try place.put("a", 1)
        let first = place.start(activation: .onNextStart)
        #expect(first["a"].source == .static)
        try await first.fetch()
        #expect(first["a"].source == .static)
        try place.put("a", 2)
        try await first.fetch()
        let second = place.start(activation: .onNextStart) { $0.transport = NoNetwork() }
        #expect(second.text("a") == "2" && second["a"].source == .remote)
        try place.put("a", 3)
        let third = place.start(activation: .onNextStart)
        #expect(third.text("a") == "2")
        try await third.fetch()
        #expect(third.text("a") == "2")
        #expect(try await third.activate())
        #expect(third.text("a") == "3")
        // Even a fetch before the first read does not change the values.
        try place.put("a", 4)
        let fourth = place.start(activation: .onNextStart)
        try await fourth.fetch()
        #expect(fourth.text("a") == "3")
    }

    /// All values in a snapshot belong to the same state, even after another activation.
    @Test func configSnapshotsAreConsistent() async throws {
        try place.put(all: ["a": 1, "b": 1])
        let config = place.start()
        config.setDefaults(["c": 1])
        try await config.fetchAndActivate()
        let before = config.snapshot()
        #expect(before["a"].numberValue == 1)
        try place.put(all: ["a": 2, "b": 2])
        try await config.fetchAndActivate()
        config.setDefaults(["c": 2])
        #expect(before["b"].numberValue == 1 && before["c"].numberValue == 1)
        #expect(before.allKeys(from: .remote) == ["a", "b"])
        let after = config.snapshot()
        #expect(["a", "b", "c"].allSatisfy { after[$0].numberValue == 2 })
        #expect(try #require(before.timestamp) < (try #require(after.timestamp)))
        #expect(after.snapshot()["a"] == after["a"])
    }

    /// Conditions can use the app context, signals, installation ID and time; signals take effect when activated.
    @Test func configConditionsSeeContextAndSignals() async throws {
        try place.put("k", "all")
        try place.put("k", "pro", id: "k1", filter: "env.plan == 'pro'", priority: 1)
        try place.put("k", "german", id: "k2", filter: "env.locale == 'de'", priority: 2)
        try place.put("v", "old")
        try place.put("v", "late", id: "v1", filter: "env.now >= ('2100-01-01'|date)")
        try place.put("n", "no")
        try place.put("n", "vip", id: "n1", filter: "env.id == 'me' && env.score > 1.5 && env.runs == 3")
        let config = place.start(installationID: "me") { $0.appContext = RemoteSettingsContext(locale: "en") }
        try await config.fetchAndActivate()
        #expect(config.text("k") == "all" && config.text("v") == "old" && config.text("n") == "no")
        try await config.setCustomSignals(["plan": "pro", "score": 2.5, "runs": 3, "locale": "de", "gone": "x"])
        #expect(config.text("k") == "all")
        #expect(config.status.waiting == ["k", "n"])
        #expect(try await config.activate())
        #expect(config.text("k") == "pro" && config.text("n") == "vip", "signals cannot override the app context")
        // Signals persist across starts; this start has a different locale.
        let later = place.start(installationID: "me") { $0.appContext = RemoteSettingsContext(locale: "de") }
        #expect(later.text("k") == "german" && later.text("n") == "vip")
        try await later.setCustomSignals(["plan": nil, "runs": nil])
        #expect(try await later.activate())
        #expect(later.text("n") == "no")
    }

    /// A record can select the app's default.
    @Test func inAppDefaultIsTheAppsOwn() async throws {
        try place.put("k", "remote")
        try place.collection.put("k2", ["key": "k", "in_app_default": true, "filter_expression": "env.locale == 'de'"])
        let config = place.start { $0.appContext = RemoteSettingsContext(locale: "de") }
        config.setDefaults(["k": "mine"])
        try await config.fetchAndActivate()
        #expect(config["k"].source == .default && config.text("k") == "mine")
        #expect(config.allKeys(from: .remote) == [])
        #expect(place.start().text("k") == "remote")
    }

    /// An app update that packages records other than parameters starts with the active values, or with the app's
    /// defaults if nothing was activated yet.
    @Test(arguments: [RemoteConfigActivation.onRequest, .onNextStart], ["active", "default"])
    func packagedNonParametersAreIgnored(_ activation: RemoteConfigActivation, value: String) async throws {
        try place.put("a", "active")
        if value == "active" { try await place.start().fetchAndActivate() }
        try place.collection.put("mistake", ["no": "parameter"])
        let packaged = try await place.package()
        let config = place.start(activation: activation) {
            $0.packaged = [packaged]
            $0.transport = NoNetwork()
        }
        config.setDefaults(["a": "default"])
        #expect(config.text("a") == value)
        #expect("\(config.status.problems)".contains("mistake"))
    }

    /// The installation ID, on which percentages depend, is the same at every start, even before the first fetch.
    @Test func installationIDIsStable() async throws {
        try place.put("k", "x")
        try place.put("k", "y", id: "k1", filter: "[env.id, 'a']|bucketSample(0, 50, 100)")
        let packaged = try await place.package()
        for _ in 0..<8 {
            try? FileManager.default.removeItem(atPath: place.storage)
            var seen: Set<String> = []
            for _ in 0..<4 {
                let config = place.start {
                    $0.packaged = [packaged]
                    $0.transport = NoNetwork()
                    $0.environment.random = { Double.random(in: 0..<1) }
                }
                seen.insert(config.text("k"))
            }
            #expect(seen.count == 1)
        }
        #expect(FileManager.default.fileExists(atPath: place.indexFile))
    }
}
