import Foundation
import RemoteConfiguration
import RemoteSettings
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Recovery from bad values: the app's check rejects them before activation, or repeated failed starts do so later.
@Suite(.serialized) struct SafeStartTests {
    let place: ConfigPlace

    init() throws { place = try ConfigPlace() }

    private func start(
        activation: RemoteConfigActivation = .onRequest, installationID: String? = nil,
        _ change: (inout RemoteSettingsConfig) -> Void = { _ in }
    ) -> RemoteConfig {
        let config = place.start(activation: activation, installationID: installationID) {
            $0.usesSafeStart = true
            change(&$0)
        }
        config.setDefaults(["interval": 99])
        return config
    }

    /// Simulates a start of an app that crashes if `interval` is 0, and otherwise fetches and activates new values.
    @discardableResult
    private func live(
        activation: RemoteConfigActivation = .onRequest, installationID: String? = nil,
        _ change: (inout RemoteSettingsConfig) -> Void = { _ in }
    ) async throws -> Int {
        let config = start(activation: activation, installationID: installationID, change)
        let interval = config["interval"].numberValue.intValue
        guard interval != 0 else { return 0 }
        try config.markStartSuccessful()
        _ = try? await config.fetch()
        if activation == .onRequest { _ = try? await config.activate() }
        return interval
    }

    @Test(arguments: [RemoteConfigActivation.onRequest, .onNextStart])
    func safeStartRecoversFromBadConfigValue(_ activation: RemoteConfigActivation) async throws {
        try place.put("interval", 24)
        #expect(try await live(activation: activation) == 99)
        #expect(try await live(activation: activation) == 24)
        try place.put("interval", 0)
        #expect(try await live(activation: activation) == 24)
        for _ in 0..<3 { #expect(try await live(activation: activation) == 0) }
        #expect(try await live(activation: activation) == 24)
        let config = start(activation: activation)
        #expect(config["interval"].numberValue == 24 && config["interval"].source == .remote)
        #expect(config.status.description.contains("(3 attempts)"))
        // The rejected state is neither active nor waiting.
        #expect(try await !config.activate() && config.status.waiting == [])
        try place.put("interval", 12)
        #expect(try await live(activation: activation) == 24)
        #expect(try await live(activation: activation) == 12)
    }

    @Test func configRollbackAndRejection() async throws {
        try place.put("interval", 1)
        try await live()
        try await live()
        try place.put("interval", 2)
        try await live()
        let config = start()
        #expect(config["interval"].numberValue == 2)
        try config.rollback()
        #expect(config["interval"].numberValue == 1)
        #expect(throws: RemoteConfigError.self) { try config.rollback() }
        #expect(try await live() == 1)
        try place.put("interval", 3)
        try await live()
        #expect(try await live() == 3)
        let later = start()
        #expect(later["interval"].numberValue == 3)
        try later.rejectState()
        #expect(later["interval"].numberValue == 1)
        try later.rejectState()
        #expect(later["interval"].numberValue == 99 && later["interval"].source == .default)
        #expect(try await live() == 99)
    }

    // MARK: Validation

    private struct Values: Decodable {
        let interval: Int
        let name: String
    }

    @Test(arguments: [RemoteConfigActivation.onRequest, .onNextStart])
    func undecodableConfigIsNotActivated(_ activation: RemoteConfigActivation) async throws {
        func started() -> RemoteConfig {
            let config = place.start(activation: activation)
            config.validate = { _, new in _ = try new.decoded(as: Values.self) }
            return config
        }
        func take() async throws {
            let config = started()
            if activation == .onRequest { try await config.fetchAndActivate() } else { try await config.fetch() }
        }
        try place.put(all: ["interval": 24, "name": "a"])
        try await take()
        #expect(started()["interval"].numberValue == 24)
        try place.put("interval", "often")
        let error = await #expect(throws: RemoteConfigError.self) { try await take() }
        guard case .rejected(let reason)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("the app's check failed"))
        let config = started()
        #expect(config["interval"].numberValue == 24)
        #expect(try await !config.activate(), "a rejected state is not retried")
        #expect(config.status.description.contains("rejected"))
        try place.put("interval", 12)
        try await take()
        #expect(started()["interval"].numberValue == 12)
    }

    /// The active state is not rejected when new signals make one of its values bad.
    @Test func badValueBySignalsKeepsActiveState() async throws {
        try place.put("interval", 24)
        try place.put("interval", 0, id: "interval-x", filter: "env.x == 1", priority: 1)
        let config = place.start()
        config.validate = { _, new in
            if new["interval"].numberValue == 0 { throw RemoteConfigError.invalidDefaults(reason: "zero") }
        }
        try await config.fetchAndActivate()
        try await config.setCustomSignals(["x": 1])
        await #expect(throws: RemoteConfigError.self) { try await config.activate() }
        #expect(config["interval"].numberValue == 24)
        try await config.setCustomSignals(["x": 2])
        try await config.activate()
        #expect(config["interval"].numberValue == 24)
        try place.put("interval", 12)
        try await config.fetchAndActivate()
        #expect(config["interval"].numberValue == 12)
    }
}
