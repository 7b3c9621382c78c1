// The steps of Firebase's guide "Get started with Remote Config" as an app has them, each to be run by its name.

import Foundation
import RemoteConfiguration

/// What the guide calls a view controller: its label is a line on standard output.
@MainActor
final class ViewController {
    private let greetingConfigKey = "greeting"
    private let intervalConfigKey = "sync-interval"
    private let loadingPhraseConfigKey = "loading_phrase"
    private let service: RemoteSettingsService
    private let remoteConfig: RemoteConfig

    /// Steps: get the singleton, set the minimum fetch interval for development, set defaults from a property list.
    init(storage: String, server: String, root: String, packaged: String, defaults: String) throws {
        service = RemoteSettingsService(
            storageDir: storage,
            config: RemoteSettingsConfig(
                server: .custom(url: server), packaged: packaged == "-" ? [] : [.directory(packaged)],
                trustRoots: try TrustAnchors(parsing: [root])))
        RemoteConfig.configure(collection: "settings", service: service)

        remoteConfig = RemoteConfig.remoteConfig()
        let settings = RemoteConfigSettings()
        settings.minimumFetchInterval = 0
        remoteConfig.configSettings = settings
        try remoteConfig.setDefaults(fromPlist: "RemoteConfigDefaults", in: defaults)
    }

    /// Step: get values.
    func display() {
        let greeting = remoteConfig[greetingConfigKey]
        let interval = remoteConfig.configValue(forKey: intervalConfigKey)
        let phrase = remoteConfig[loadingPhraseConfigKey]
        let nothing = remoteConfig["nothing"]
        print("greeting=\(greeting.stringValue) \(greeting.source)")
        print("interval=\(interval.numberValue.intValue) \(interval.source)")
        print("phrase=\(phrase.stringValue) \(phrase.source)")
        print("nothing=\(nothing.stringValue) \(nothing.source)")
    }

    /// Step: fetch, and activate later.
    func fetch(done: @escaping @MainActor @Sendable () -> Void) {
        remoteConfig.fetch { status, error in
            if status == .success {
                print("Config fetched!")
            } else {
                print("Config not fetched")
                print("Error: \(error?.localizedDescription ?? "No error available.")")
            }
            done()
        }
    }

    func activate(done: @escaping @MainActor @Sendable () -> Void) {
        remoteConfig.activate { changed, error in
            print("activated: \(changed), error: \(error?.localizedDescription ?? "none")")
            self.display()
            done()
        }
    }

    /// Step: fetch and activate in one call.
    func fetchAndActivate(done: @escaping @MainActor @Sendable () -> Void) {
        remoteConfig.fetchAndActivate { status, error in
            if status != .error { print("Config fetched and activated!") }
            if let error { print("Error: \(error.localizedDescription)") }
            self.display()
            done()
        }
    }

    /// Step: listen for updates, which a sync brings.
    func listen(done: @escaping @MainActor @Sendable () -> Void) {
        let registration = remoteConfig.addOnConfigUpdateListener { configUpdate, error in
            guard let configUpdate, error == nil else {
                return print("Error listening for config updates: \(String(describing: error))")
            }
            print("Updated keys: \(configUpdate.updatedKeys.sorted())")
            self.remoteConfig.activate { changed, error in
                guard error == nil else { return print("\(String(describing: error))") }
                self.display()
                done()
            }
        }
        Task {
            do { try await service.sync() } catch { print("Error: \(error)") }
            try? await Task.sleep(for: .seconds(10))
            registration.remove()
            print("Nothing was heard")
            done()
        }
    }
}

@main
enum Guide {
    /// `guide STORAGE SERVER ROOT PACKAGED|- DEFAULTS [fetch|activate|fetchAndActivate|listen]`
    @MainActor
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 6 else {
            print("usage: guide STORAGE SERVER ROOT PACKAGED|- DEFAULTS [STEP]")
            exit(2)
        }
        let controller = try ViewController(
            storage: arguments[1], server: arguments[2], root: arguments[3], packaged: arguments[4],
            defaults: arguments[5])
        controller.display()
        for await _ in ended(controller, step: arguments.count > 6 ? arguments[6] : "") { return }
    }

    /// A stream that yields when the step is done.
    @MainActor
    private static func ended(_ controller: ViewController, step: String) -> AsyncStream<Void> {
        AsyncStream { continuation in
            let done: @MainActor @Sendable () -> Void = { continuation.yield() }
            switch step {
            case "fetch": controller.fetch(done: done)
            case "activate": controller.activate(done: done)
            case "fetchAndActivate": controller.fetchAndActivate(done: done)
            case "listen": controller.listen(done: done)
            default: continuation.finish()
            }
        }
    }
}
