import Foundation
import RemoteConfiguration
import RemoteSettingsTesting
import Testing

/// Overrides for development, and values constructed for tests.
struct ConfigOverrideTests {
    let place: ConfigPlace

    init() throws { place = try ConfigPlace() }

    @Test func configOverridesWinOverAllLayers() async throws {
        try place.put(all: ["a": "remote a", "b": 2])
        let config = place.start()
        config.setDefaults(["a": "default a", "c": "default c"])
        try await config.fetchAndActivate()
        config.setOverrides(["a": "mine", "new": true])
        #expect(config["a"].source == .override && config.text("a") == "mine")
        #expect(config["new"].boolValue && config["b"].source == .remote && config["c"].source == .default)
        #expect(config.configValue(forKey: "a", source: .remote).stringValue == "remote a")
        #expect(config.configValue(forKey: "a", source: .override).stringValue == "mine")
        #expect(config.configValue(forKey: "b", source: .override).source == .static)
        #expect(config.allKeys(from: .override) == ["a", "new"] && config.allKeys(from: .remote) == ["a", "b"])
        #expect(config.keys(withPrefix: "n") == ["new"])
        struct All: Decodable, Equatable { var a: String, b: Int, c: String, new: Bool }
        #expect(try config.decoded() == All(a: "mine", b: 2, c: "default c", new: true))
        #expect(config.status.overrides.count == 2)
        #expect(config.status.description.hasPrefix(#"OVERRIDDEN for development: a is "mine""#))
        // Activations and new defaults do not affect overrides.
        try place.put("a", "remote later")
        try await config.fetchAndActivate()
        config.setDefaults(nil)
        #expect(config.text("a") == "mine")
        config.setOverrides(nil)
        #expect(config.text("a") == "remote later" && config.status.overrides.isEmpty)
        // Overrides are kept in memory only.
        #expect(place.start().text("new") == "")
    }

    @Test func launchArgumentOverridesAreOptIn() {
        let config = place.start()
        #expect(config["a"].source == .static)
        config.setOverridesFromLaunch(
            arguments: [
                "app", "-RemoteConfigOverride", "a=1.10", "-RemoteConfigOverride", "b=x=y", "-RemoteConfigOverride",
                "nothing", "-RemoteConfigOverride", "=z", "-RemoteConfigOverride",
            ],
            environment: [
                "REMOTE_CONFIG_OVERRIDE_a": "lower", "REMOTE_CONFIG_OVERRIDE_c.d": "", "REMOTE_CONFIG_OVERRIDE_": "x",
                "HOME": "/",
            ])
        #expect(config.allKeys(from: .override) == ["a", "b", "c.d"])
        #expect(config.text("a") == "1.10" && config.text("b") == "x=y" && config["c.d"].source == .override)
        config.setOverridesFromLaunch(arguments: [], environment: [:])
        #expect(config.allKeys(from: .override) == [])
    }

    /// A file that overrides a collection does not change the collection's stored state.
    @Test func fileOverrideKeepsStoredConfigState() async throws {
        try place.put("a", "remote a")
        let config = place.start()
        try await config.fetchAndActivate()
        let kept = [try place.entry(), try place.kept() ?? [:]] as NSArray
        let file = place.directory.appending(path: "mine.json")
        func write(_ value: String) throws {
            try Data(#"[{"id":"a","key":"a","value":"\#(value)"}]"#.utf8).write(to: file)
        }
        try write("mine")
        let asked = place.requests
        let local = place.start { $0.overrides = [.file(file.path, of: place.collection.id)] }
        #expect(local.text("a") == "mine" && local["a"].source == .override)
        #expect(local.status.overrides.first?.contains(file.path) == true)
        #expect(local.status.active?.provenance == .unsigned)
        // A fetch reads the edited file again, without a request to the server.
        try write("mine, edited")
        #expect(try await local.fetchAndActivate() == .successFetchedFromRemote)
        #expect(local.text("a") == "mine, edited" && place.requests == asked)
        #expect(try [place.entry(), place.kept() ?? [:]] as NSArray == kept)
        // Without the override, the stored state is used again.
        let later = place.start { $0.acceptsUnsigned = true }
        #expect(later.text("a") == "remote a" && later["a"].source == .remote && later.status.overrides.isEmpty)
        let again = place.start { $0.overrides = [.file(file.path + ".none", of: place.collection.name)] }
        #expect(again["a"].source == .static && again.status.problems.first?.contains("mine.json.none") == true)
    }

    @Test func configSnapshotFromValuesForTests() throws {
        func total(_ config: some RemoteConfigReading) -> String {
            "\(config["title"].stringValue) \(config["count"].numberValue) \(config["on"].boolValue)"
        }
        let values = RemoteConfigSnapshot(values: ["title": "Hi", "count": 3], defaults: ["on": true, "count": 1])
        #expect(total(values) == "Hi 3 true")
        #expect(values["title"].source == .remote && values["on"].source == .default && values["x"].source == .static)
        #expect(values.allKeys(from: .remote) == ["count", "title"] && values.keys(withPrefix: "t") == ["title"])
        #expect(RemoteConfigValue("7").numberValue == 7 && RemoteConfigValue("7").source == .remote)
        let data = RemoteConfigValue(Data([0xFF]), source: .default)
        #expect(data.dataValue == Data([0xFF]) && data.source == .default)
        #expect(RemoteConfigUpdate(updatedKeys: ["a"]).updatedKeys == ["a"])
    }
}
