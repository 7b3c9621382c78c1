import Foundation
import RemoteSettingsBlocking

enum MockError: Error { case broken }

/// Stands in for a client, with errors of its own.
final class MockClient: RemoteSettingsClientProtocol, @unchecked Sendable {
    private let records: [RemoteSettingsRecord]
    var returnsNothing = false
    var attachmentError: Error?
    private(set) var syncCount = 0

    init(records: [RemoteSettingsRecord]) {
        self.records = records
    }

    func collectionName() -> String { "mock" }

    func getAttachment(record: RemoteSettingsRecord) throws -> Data {
        if let attachmentError { throw attachmentError }
        return Data(record.id.utf8)
    }

    func getLastModifiedTimestamp() -> UInt64? { records.map(\.lastModified).max() }

    func getRecords(syncIfEmpty: Bool) -> [RemoteSettingsRecord]? { returnsNothing ? nil : records }

    func getRecordsMap(syncIfEmpty: Bool) -> [String: RemoteSettingsRecord]? {
        Dictionary(uniqueKeysWithValues: records.map { ($0.id, $0) })
    }

    func resetStorage() throws {}

    func shutdown() {}

    func sync() throws { syncCount += 1 }
}

/// Watches what is called of a service, which does nothing.
final class SpyService: RemoteSettingsService, @unchecked Sendable {
    private(set) var telemetry: RemoteSettingsTelemetry?

    init() {
        super.init(noHandle: NoHandle())
    }

    required init(unsafeFromHandle handle: UInt64) {
        super.init(unsafeFromHandle: handle)
    }

    override func setTelemetry(telemetry: RemoteSettingsTelemetry) { self.telemetry = telemetry }

    override func sync() throws -> [String] { throw MockError.broken }
}

/// What the app's tests say of its own code; a line for each.
func mocked() async -> [String] {
    let flawed = RemoteSettingsRecord(id: "xx", lastModified: 1, deleted: false, attachment: nil, fields: "not-json")
    var whole = flawed
    whole.fields = #"{"code": "XX", "name": "Nowhere", "drivesOnThe": "left"}"#
    let client = MockClient(records: [whole, flawed])
    let fetcher = RegionFetcher(regions: client, icons: client)
    let regions = await fetcher.fetchRegions()
    client.attachmentError = MockError.broken
    var thrown = "nothing"
    do { _ = try await fetcher.attachment(of: whole) } catch { thrown = "\(error)" }

    let spy = SpyService()
    let profile = Profile(directory: "nowhere", config: RemoteSettingsConfig2(server: .prod)) { _, _ in spy }
    let coordinator = SyncCoordinator(service: profile.remoteSettingsService)
    let synced = coordinator.syncAll()
    return [
        "mocked: \(regions.map(\.name))", "thrown: \(thrown)", "spied: \(spy.telemetry is SyncTelemetry)",
        "synced: \(synced ?? ["nothing"])",
    ]
}
