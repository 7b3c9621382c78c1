#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What an app calls of ``RemoteSettingsService``, so that its tests can use a stand-in.
public protocol RemoteSettingsServiceProtocol: AnyObject, Sendable {
    associatedtype Client: RemoteSettingsClientProtocol

    func makeClient(collectionName: String) -> Client
    func sync() async throws(RemoteSettingsError) -> [String]
    func updateConfig(config: RemoteSettingsConfig) throws(RemoteSettingsError)
    func clientUrl() -> String
    func setTelemetry(telemetry: any RemoteSettingsTelemetry)
}

/// What an app calls of ``RemoteSettingsClient``, so that its tests can use a stand-in. ``RemoteSettingsRecord`` has an
/// initialiser for the records of one.
public protocol RemoteSettingsClientProtocol: AnyObject, Sendable {
    func collectionName() -> String
    func getRecords() -> [RemoteSettingsRecord]?
    func getRecords(syncIfEmpty: Bool) async -> [RemoteSettingsRecord]?
    func getRecordsMap() -> [String: RemoteSettingsRecord]?
    func getRecordsMap(syncIfEmpty: Bool) async -> [String: RemoteSettingsRecord]?
    func getLastModifiedTimestamp() -> UInt64?
    func getAttachment(record: RemoteSettingsRecord) async throws(RemoteSettingsError) -> Data
    func sync() async throws(RemoteSettingsError)
    func resetStorage() throws(RemoteSettingsError)
    func shutdown()
}

extension RemoteSettingsService: RemoteSettingsServiceProtocol {}
extension RemoteSettingsClient: RemoteSettingsClientProtocol {}
