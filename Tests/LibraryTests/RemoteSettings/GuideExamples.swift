import Foundation
import RemoteSettings
import Testing

/// A service as an app makes and configures it, offline. `BindingNamesTests` has the calls that read.
@Suite struct GuideExamples {
    private let storage = FileManager.default.temporaryDirectory.appending(path: "rs-guide-\(UUID().uuidString)").path

    @Test func makingAService() throws {
        let config = RemoteSettingsConfig(server: .stage, bucketName: "main", appContext: nil)
        let older = RemoteSettingsConfig(
            server: .custom(url: "https://settings.example.org"),
            trustRoots: try TrustAnchors(parsing: [String(repeating: "ab", count: 32)]))
        let service = RemoteSettingsService(storageDirectory: storage, config: config)
        #expect(service.serverURL == "https://firefox.settings.services.allizom.org/v2")
        try service.updateConfig(config: older)
        #expect(service.serverURL == "https://settings.example.org/v2")
        try service.updateConfig(config: RemoteSettingsConfig())
        #expect(service.serverURL == "https://firefox.settings.services.mozilla.com/v2")
        #expect(throws: RemoteSettingsError.self) {
            try service.updateConfig(config: RemoteSettingsConfig(server: .custom(url: "http://settings.example.org")))
        }
    }

    @Test func syncingAndErrors() async throws {
        var config = RemoteSettingsConfig()
        config.transport = NoTransport()
        config.limits.tries = 1
        let service = RemoteSettingsService(storageDirectory: storage, config: config)
        let client = service.makeClient(collectionName: "markets")
        // One report is of the monitor, the other one of the whole service.
        let isNetwork = try await confirmation("reports", expectedCount: 2) { reported in
            service.telemetry = Uptake(reported: reported)
            return try await failsToReachTheNetwork(service, client)
        }
        #expect(isNetwork)
        try await client.resetStorage()
        service.shutdown()
    }

    private func failsToReachTheNetwork(
        _ service: RemoteSettingsService, _ client: RemoteSettingsClient
    ) async throws -> Bool {
        do {
            let names: [String] = try await service.sync()
            try await client.sync()
            Issue.record("synced \(names) without a network")
        } catch .offline(let reason) {
            return reason.contains("offline")
        } catch .backoff(let pause) {
            Issue.record("backoff of \(pause)")
        } catch {
            Issue.record("\(error)")
        }
        return false
    }

    /// Names that no collection can have are answered, not trapped.
    @Test func impossibleNames() async {
        let client = RemoteSettingsService(storageDirectory: storage, config: RemoteSettingsConfig())
            .makeClient(collectionName: "../../etc/passwd")
        #expect(client.records == nil)
        #expect(client.status.source == .noSnapshot)
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        await #expect(throws: RemoteSettingsError.self) { try await client.resetStorage() }
    }

    private struct Uptake: RemoteSettingsTelemetry {
        let reported: Confirmation

        func reportUptake(_ event: UptakeEvent) {
            #expect(event.status == .networkError)
            reported()
        }
    }
}
