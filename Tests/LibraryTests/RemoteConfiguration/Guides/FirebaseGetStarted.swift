// The steps of Firebase's guide "Get started with Remote Config on Apple platforms", as an app has them after it has
// moved. What differs says so.

import Foundation
import RemoteConfiguration
import RemoteSettingsTesting
import Testing

/// A view controller as the guide has it.
@MainActor
private final class GuideViewController {
    private let welcomeMessageConfigKey = "welcome_message"
    private let welcomeMessageCapsConfigKey = "welcome_message_caps"
    private let loadingPhraseConfigKey = "loading_phrase"
    var remoteConfig: RemoteConfig!
    var welcomeLabel = ""
    var steps: [String] = []

    /// Step: get the singleton. Firebase finds its project in `GoogleService-Info.plist` at `FirebaseApp.configure()`;
    /// here the collection is named.
    func configure(collection: String, service: RemoteSettingsService) {
        RemoteConfig.configure(collection: collection, service: service)

        remoteConfig = RemoteConfig.remoteConfig()
        var settings = RemoteConfigSettings()
        settings.minimumFetchInterval = 0
        remoteConfig.configSettings = settings
    }

    /// Step: set in-app defaults. It throws: a missing file is an error, and not a line in a log.
    func setDefaults(directory: String) throws {
        try remoteConfig.setDefaults(fromPlist: "RemoteConfigDefaults", in: directory)
    }

    /// The same from a dictionary.
    func setDefaultsFromDictionary() {
        let appDefaults: [String: any RemoteConfigDefault] = [
            "welcome_message": "Welcome from defaults", "welcome_message_caps": false,
        ]
        remoteConfig.setDefaults(appDefaults)
    }

    /// Step: get values.
    func displayWelcome() {
        var welcomeMessage = remoteConfig[welcomeMessageConfigKey].stringValue
        if remoteConfig.configValue(forKey: welcomeMessageCapsConfigKey).boolValue {
            welcomeMessage = welcomeMessage.uppercased()
        }
        welcomeLabel = welcomeMessage
    }

    /// Step: fetch and activate.
    func fetchConfig(done: @escaping @MainActor @Sendable () -> Void) {
        welcomeLabel = remoteConfig[loadingPhraseConfigKey].stringValue

        remoteConfig.fetch { (status, error) -> Void in
            if status == .success {
                self.steps.append("Config fetched!")
                self.remoteConfig.activate { changed, error in
                    self.displayWelcome()
                    done()
                }
            } else {
                print("Config not fetched")
                print("Error: \(error?.localizedDescription ?? "No error available.")")
            }
            self.displayWelcome()
        }
    }

    /// The same in one call.
    func fetchAndActivate(done: @escaping @MainActor @Sendable () -> Void) {
        remoteConfig.fetchAndActivate { status, error in
            if status != .error { self.steps.append("Fetched and activated") }
            guard error == nil else { return print("Error: \(error!.localizedDescription)") }
            self.displayWelcome()
            done()
        }
    }

    /// The asynchronous forms of the same steps.
    func asynchronously() async throws {
        try await remoteConfig.ensureInitialized()
        let fetched: RemoteConfigFetchStatus = try await remoteConfig.fetch()
        #expect(fetched == .success)
        _ = try await remoteConfig.fetch(withExpirationDuration: 0)
        let changed: Bool = try await remoteConfig.activate()
        #expect(!changed)
        let status: RemoteConfigFetchAndActivateStatus = try await remoteConfig.fetchAndActivate()
        #expect(status == .successFetchedFromRemote)
        #expect(remoteConfig.lastFetchStatus == .success)
        #expect(try #require(remoteConfig.lastFetchTime) > Date(timeIntervalSince1970: 1_700_000_000))
    }

    /// Guide "Use custom signals".
    func signals() async throws {
        let customSignals: [String: CustomSignalValue?] = [
            "city": .string("Tokyo"),
            "preferred_event_category": .string("sports"),
            "age": .integer(21),
            "score": .double(3.5),
            "nothing": nil,
        ]
        do {
            try await remoteConfig.setCustomSignals(customSignals)
            steps.append("Custom signals set successfully!")
        } catch {
            print("Error setting custom signals: \(error)")
        }
    }
}

/// The structures that Firebase's codable and SwiftUI guides decode.
private struct Recipe: Decodable {
    var name: String
    var ingredients: [String]
}

private struct ContentView {
    @RemoteConfigProperty(key: "cardColor", fallback: "#f05138") var cardColor
    @RemoteConfigProperty(key: "items", fallback: [String]()) var items: [String]
}

@Suite(.serialized)
struct FirebaseGetStarted {
    @Test @MainActor func guide() async throws {
        let place = try ConfigPlace()
        // The shared object keeps the place as long as the process.
        defer { try? FileManager.default.removeItem(at: place.directory) }
        let plist = try PropertyListSerialization.data(
            fromPropertyList: ["welcome_message": "Welcome!", "loading_phrase": "…"], format: .xml, options: 0)
        try plist.write(to: place.directory.appending(path: "RemoteConfigDefaults.plist"))
        try place.put(all: ["welcome_message": "Hello", "welcome_message_caps": true])
        let controller = GuideViewController()
        let service = RemoteSettingsService(storageDirectory: place.storage, config: place.config())
        controller.configure(collection: place.collection.name, service: service)
        try controller.setDefaults(directory: place.directory.path)
        controller.displayWelcome()
        #expect(controller.welcomeLabel == "Welcome!")
        await withCheckedContinuation { done in controller.fetchConfig { done.resume() } }
        #expect(controller.welcomeLabel == "HELLO")
        await withCheckedContinuation { done in controller.fetchAndActivate { done.resume() } }
        controller.setDefaultsFromDictionary()
        try await controller.asynchronously()
        try await controller.signals()
        #expect(controller.steps.contains("Custom signals set successfully!"))

        let config = RemoteConfig.remoteConfig()
        #expect(config === controller.remoteConfig)
        try place.put("recipe", ["name": "Tea", "ingredients": ["water"]])
        try place.put("items", ["a", "b"])
        try await config.fetchAndActivate()
        let recipe: Recipe = try config["recipe"].decoded()
        #expect(recipe.name == "Tea")
        let again: Recipe? = config[decodedValue: "recipe"]
        #expect(again?.ingredients == ["water"])
        // Where the guide casts jsonValue to [String: Any].
        let object = try #require(config["recipe"].jsonObject)
        #expect(object["name"] as? String == "Tea" && object["ingredients"] as? [String] == ["water"])
        #expect(try config["recipe"].decoded(as: Recipe.self).name == "Tea")
        let view = ContentView()
        #expect(view.cardColor == "#f05138" && view.items == ["a", "b"])
    }
}
