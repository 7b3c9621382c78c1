// The steps of Firebase's guide "Propagate Remote Config updates in real time": publishing sends a silent message to a
// topic, and the app fetches past the interval at its next start.

import Foundation
import RemoteConfiguration
import RemoteSettingsTesting
import Testing

@MainActor
private final class AppDelegate {
    private let remoteConfig: RemoteConfig

    init(remoteConfig: RemoteConfig) { self.remoteConfig = remoteConfig }

    /// Step: subscribe to a topic. The message is sent by your own service, when `rsdump publish --on-change` runs it.
    func messagingDidReceiveToken(subscribe: (String) -> Void) { subscribe("PUSH_RC") }

    /// Step: note that there is something newer. The guide keeps a flag in `UserDefaults`; here the library keeps it,
    /// with the state that it speaks of.
    func didReceiveRemoteNotification(_ userInfo: [AnyHashable: Any]) -> Bool {
        (try? remoteConfig.handlePushMessage(userInfo)) ?? false
    }

    /// Step: fetch at the start. The guide chooses an expiration of 0 after a message; here `fetch()` does so by
    /// itself.
    func fetchConfig() async throws {
        try await remoteConfig.fetch()
        try await remoteConfig.activate()
    }
}

struct FirebaseSilentPush {
    @Test @MainActor func guide() async throws {
        let place = try ConfigPlace()
        try place.put("welcome_message", "Hello")
        let config = place.start(interval: 43_200)
        let app = AppDelegate(remoteConfig: config)
        var topics: [String] = []
        app.messagingDidReceiveToken { topics.append($0) }
        #expect(topics == ["PUSH_RC"])
        try await app.fetchConfig()
        #expect(config.text("welcome_message") == "Hello")

        try place.put("welcome_message", "Good morning")
        try await app.fetchConfig()
        #expect(config.text("welcome_message") == "Hello", "the interval lasts")

        #expect(!app.didReceiveRemoteNotification(["aps": ["content-available": 1]]), "it is about something else")
        #expect(app.didReceiveRemoteNotification(["aps": ["content-available": 1], "CONFIG_STATE": "STALE"]))
        // The note outlives the process.
        let next = place.start(interval: 43_200)
        let restarted = AppDelegate(remoteConfig: next)
        #expect(next.status.isStale)
        try await restarted.fetchConfig()
        #expect(next.text("welcome_message") == "Good morning" && !next.status.isStale)
        let fetches = place.fetches
        try await restarted.fetchConfig()
        #expect(place.fetches == fetches, "the success has cleared the note")
    }
}
