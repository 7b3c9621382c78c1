// The steps of "Flurry Remote Config for iOS", as an app has them after it has moved. In Flurry every value is a text.

import Foundation
import RemoteConfiguration
import RemoteSettingsTesting
import Testing

@MainActor
private final class FlurryViewController {
    private let config: RemoteConfig
    private var observer: ConfigUpdateListenerRegistration?
    private(set) var steps: [String] = []

    /// Step: the shared instance, which loads what was fetched last, and an observer with a queue.
    init(config: RemoteConfig) {
        self.config = config
        observer = config.addObserver(on: .main) { event in
            MainActor.assumeIsolated { self.configEvent(event) }
        }
    }

    /// The four calls of `FConfigObserver`.
    private func configEvent(_ event: RemoteConfigEvent) {
        switch event {
        case .fetched: steps.append("fetchComplete")
        case .fetchedWithoutChange: steps.append("fetchCompleteNoChange")
        case .fetchFailed: steps.append("fetchFail")
        case .activated: steps.append("activationComplete")
        }
    }

    /// Step: fetch. What comes takes effect as the mode says.
    func fetchConfig() async { _ = try? await config.fetch() }

    /// Step, in the advanced mode: activate.
    func activateConfig() async -> Bool { (try? await config.activate()) ?? false }

    /// Step: read values, each with a default.
    func display() -> String {
        let title = config.string(forKey: "title", default: "untitled")
        let shows = config.boolUnlessZero(forKey: "shows_banner", default: false)
        let count = config.number(forKey: "count", default: 3)
        return "\(title) \(shows) \(count)"
    }

    func unregister() { observer?.remove() }

    /// Waits until so many events have arrived.
    func has(_ count: Int) async throws {
        for _ in 0..<1000 where steps.count < count { try await Task.sleep(for: .milliseconds(5)) }
    }
}

struct FlurryGuide {
    @Test @MainActor func advancedMode() async throws {
        let place = try ConfigPlace()
        try place.put(all: ["title": "Hello", "shows_banner": "no"])
        let controller = FlurryViewController(config: place.start())
        #expect(controller.display() == "untitled false 3")
        await controller.fetchConfig()
        #expect(controller.display() == "untitled false 3")
        #expect(await controller.activateConfig())
        #expect(controller.display() == "Hello true 3", "anything but 0 is true")
        await controller.fetchConfig()
        try await controller.has(3)
        try place.put("shows_banner", "0")
        await controller.fetchConfig()
        #expect(await controller.activateConfig())
        #expect(controller.display() == "Hello false 3")
        try await controller.has(5)
        let all = [
            "fetchComplete", "activationComplete", "fetchCompleteNoChange", "fetchComplete", "activationComplete",
        ]
        #expect(controller.steps == all)
        controller.unregister()
        await controller.fetchConfig()
        try await Task.sleep(for: .milliseconds(20))
        #expect(controller.steps == all)
    }

    /// What is fetched takes effect at the next cold start.
    @Test @MainActor func simpleMode() async throws {
        let place = try ConfigPlace()
        try place.put(all: ["title": "Hello", "count": "7"])
        let controller = FlurryViewController(config: place.start(activation: .onNextStart))
        #expect(controller.display() == "untitled false 3")
        await controller.fetchConfig()
        #expect(controller.display() == "untitled false 3")
        let next = FlurryViewController(config: place.start(activation: .onNextStart) { $0.transport = NoNetwork() })
        #expect(next.display() == "Hello false 7")
        await next.fetchConfig()
        try await next.has(1)
        #expect(next.steps == ["fetchFail"])
    }
}
