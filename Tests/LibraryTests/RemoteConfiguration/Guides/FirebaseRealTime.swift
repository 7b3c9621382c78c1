// The steps of Firebase's guide "Get started with real-time Remote Config", as an app has them after it has moved.

import Foundation
import RemoteConfiguration
import RemoteSettingsTesting
import Testing

@MainActor
private final class RealTimeViewController {
    private let remoteConfig: RemoteConfig
    private var registration: ConfigUpdateListenerRegistration?
    private(set) var welcomeLabel = ""
    private(set) var steps: [String] = []

    init(remoteConfig: RemoteConfig) {
        self.remoteConfig = remoteConfig
        remoteConfig.setDefaults(["welcome_message": "Welcome", "welcome_message_caps": false])
    }

    /// Fetch at the start *and* listen. The connection may be in a pause that a start of the app does not end; then
    /// only the fetch brings what is new.
    func viewDidLoad() async {
        do {
            try await remoteConfig.fetchAndActivate()
        } catch {
            steps.append("Not fetched: \(error.localizedDescription)")
        }
        displayWelcome()
        listen()
    }

    /// Step: listen for updates, and activate them at once.
    private func listen() {
        registration = remoteConfig.addOnConfigUpdateListener { configUpdate, error in
            guard let configUpdate, error == nil else {
                self.steps.append("Error listening for config updates: \(error?.localizedDescription ?? "none")")
                return
            }
            self.steps.append("Updated keys: \(configUpdate.updatedKeys.sorted())")
            self.remoteConfig.activate { changed, error in
                guard error == nil else { return self.steps.append("Not activated: \(String(describing: error))") }
                DispatchQueue.main.async { self.displayWelcome() }
            }
        }
    }

    /// Step: stop listening.
    func viewDidDisappear() { registration?.remove() }

    /// The same as a sequence. An error ends it.
    func listenToSequence() -> Task<Void, any Error> {
        let updates = remoteConfig.configUpdates
        return Task {
            for try await update in updates { self.steps.append("From the sequence: \(update.updatedKeys.sorted())") }
        }
    }

    private func displayWelcome() {
        let message = remoteConfig["welcome_message"].stringValue
        welcomeLabel = remoteConfig["welcome_message_caps"].boolValue ? message.uppercased() : message
    }
}

struct FirebaseRealTime {
    @Test @MainActor func guide() async throws {
        let place = try ConfigPlace()
        // What Firebase's console publishes are texts.
        try place.put(all: ["welcome_message": "Hello", "welcome_message_caps": "false"])
        let config = place.start()
        let controller = RealTimeViewController(remoteConfig: config)
        await controller.viewDidLoad()
        #expect(controller.welcomeLabel == "Hello")
        let sequence = controller.listenToSequence()

        try place.put("welcome_message_caps", "true")
        // Instead of the update channel, which tests of real time hold.
        try await config.fetch()
        for _ in 0..<1000 where controller.welcomeLabel != "HELLO" { try await Task.sleep(for: .milliseconds(5)) }
        #expect(controller.welcomeLabel == "HELLO")
        #expect(controller.steps.contains(#"Updated keys: ["welcome_message_caps"]"#))
        let told = #"From the sequence: ["welcome_message_caps"]"#
        for _ in 0..<1000 where !controller.steps.contains(told) { try await Task.sleep(for: .milliseconds(5)) }
        #expect(controller.steps.contains(told))
        sequence.cancel()

        controller.viewDidDisappear()
        try place.put("welcome_message", "Bye")
        try await config.fetch()
        try await Task.sleep(for: .milliseconds(50))
        #expect(controller.welcomeLabel == "HELLO")
    }
}
