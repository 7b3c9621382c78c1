import RemoteConfiguration
import RemoteSettings
import RemoteSettingsBlocking
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// In a file that imports the blocking module and the others, the short names refer to the blocking types.
@Suite struct BlockingImportsTests {
    private final class Receiver: RemoteSettingsTelemetry {
        let values = Mutex<Set<String>>([])

        func reportUptake(extras: UptakeEventExtras) { values.withLock { _ = $0.insert(extras.value ?? "none") } }
    }

    @Test func shortNamesAreTheBlockingOnes() throws {
        let receiver = Receiver()
        let test = try TestService { $0.telemetry = receiver }
        try test.collection("markets").put("de")
        let service = RemoteSettingsService(test.service)
        let asynchronous: RemoteSettings.RemoteSettingsService = service.asynchronous
        let client: RemoteSettingsClient = service.makeClient(collectionName: "markets")
        #expect(try service.sync() == ["markets"])
        #expect(client.getRecords()?.map(\.id) == ["de"])
        #expect(receiver.values.withLock { $0 }.contains("success"))
        client.shutdown()
        #expect(throws: RemoteSettingsError.self) { try client.sync() }
        let config = RemoteConfig(collection: "config", service: asynchronous)
        #expect(config["none"].source == .static)
    }
}
