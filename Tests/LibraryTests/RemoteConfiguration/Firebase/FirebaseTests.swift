import Foundation
import RemoteConfiguration
import RemoteSettingsTesting
import Testing

/// Code of an app that migrates from Firebase. `Tests/Promises/api` checks that the API names remain.
struct FirebaseTests {
    /// `configure` sets the collection once, as `FirebaseApp.configure()` sets the project.
    @Test func sharedRemoteConfigIsConfiguredOnce() async throws {
        struct Screen {
            @RemoteConfigProperty(key: "colour", fallback: "#f05138") var colour
            @RemoteConfigProperty(key: "items", fallback: [String]()) var items: [String]
        }
        let place = try ConfigPlace()
        // The shared object keeps `place` alive until the process exits, so its `deinit` never removes the directory.
        defer { try? FileManager.default.removeItem(at: place.directory) }
        try place.put("items", ["a", "b"])
        let configured = RemoteConfig.configure(
            collection: place.collection.name,
            service: RemoteSettingsService(storageDirectory: place.storage, config: place.config()))
        let config = RemoteConfig.remoteConfig()
        #expect(config === configured)
        try await config.fetchAndActivate()
        let screen = Screen()
        #expect(screen.colour == "#f05138" && screen.items == ["a", "b"])
    }

    @Test func firebaseNumbersAndCodes() {
        #expect(RemoteConfigFetchStatus.allCases.map(\.rawValue) == [0, 1, 2, 3])
        #expect(RemoteConfigFetchStatus.throttled.rawValue == 3)
        #expect(RemoteConfigFetchAndActivateStatus.error.rawValue == 2)
        #expect(RemoteConfigError.throttled.rawValue == 8002)
        #expect(RemoteConfigError.cancelled.code == .unknown && RemoteConfigError.storage(reason: "").errorCode == 8003)
        let throttled = RemoteConfigError.paused(until: RemoteSettingsTimestamp(milliseconds: 7000), reason: "")
        #expect(RemoteConfigUpdateError.Code.allCases.map(\.rawValue) == [8001, 8002, 8003, 8004])
        #expect(RemoteConfigUpdateError.messageInvalid(reason: "").code == RemoteConfigUpdateError.messageInvalid)
        #expect(throttled.code == RemoteConfigError.throttled && throttled.throttledUntil != nil)
        #expect(RemoteConfigErrorDomain == RemoteConfigError.errorDomain)
        do {
            throw throttled
        } catch RemoteConfigError.throttled {
        } catch {
            Issue.record(error)
        }
    }
}

/// The overload that takes objects, as on Apple platforms: calls that are ambiguous there do not compile here either.
extension RemoteConfig {
    @_disfavoredOverload
    fileprivate func setDefaults(_ defaults: [String: NSObject]?) {
        setDefaults((defaults ?? [:]).mapValues { ($0 as? NSString).map { "\($0)" } ?? "object" })
    }
}

extension FirebaseTests {
    @Test func firebaseDefaultsAreNotAmbiguous() throws {
        let config = try ConfigPlace().start()
        config.setDefaults(["a": "b"])
        config.setDefaults(nil)
        #expect(config.allKeys(from: .default) == [])
        config.setDefaults([:])
        config.setDefaults(["a": "b", "c": 1])
        #expect(config.allKeys(from: .default) == ["a", "c"])
        let objects: [String: NSObject]? = ["k": NSString("text")]
        config.setDefaults(objects)
        #expect(config.text("k") == "text")
    }
}
