#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What an app calls on a ``RemoteSettingsService``. The app's tests can use a stand-in, which may throw errors of its
/// own.
public protocol AsyncRemoteSettingsService: AnyObject, Sendable {
    /// The clients that the service makes.
    associatedtype Client: AsyncRemoteSettingsClient

    /// The client of a collection of the service's bucket. No I/O.
    func makeClient(collectionName: String) -> Client
    /// Syncs the collections of all clients. Uses the network.
    ///
    /// - Returns: the names of the collections that changed.
    func sync() async throws -> [String]
    /// Changes the configuration of the service and of its clients.
    func updateConfig(config: RemoteSettingsConfig) throws
    /// The base URL of the server's API.
    func clientUrl() -> String
    /// Sets the receiver of each sync's outcome.
    func setTelemetry(telemetry: any RemoteSettingsTelemetry)
}

/// What an app calls on a ``RemoteSettingsClient``. The app's tests can use a stand-in, which may throw errors of its
/// own.
///
/// ``RemoteSettingsRecord`` has an initialiser for a stand-in's records.
public protocol AsyncRemoteSettingsClient: AnyObject, Sendable {
    /// The name of the collection, without its bucket.
    func collectionName() -> String
    /// The records that are held; `nil` if there are none. Never uses the network.
    func getRecords() -> [RemoteSettingsRecord]?
    /// The records; if none are held and `syncIfEmpty` is set, after a sync.
    func getRecords(syncIfEmpty: Bool) async -> [RemoteSettingsRecord]?
    /// The records that are held, by id. Never uses the network.
    func getRecordsMap() -> [String: RemoteSettingsRecord]?
    /// The records, by id; if none are held and `syncIfEmpty` is set, after a sync.
    func getRecordsMap(syncIfEmpty: Bool) async -> [String: RemoteSettingsRecord]?
    /// The timestamp of what is held, in milliseconds since 1970.
    func getLastModifiedTimestamp() -> UInt64?
    /// A record's attachment. Uses the network if it is neither stored nor packaged.
    func getAttachment(record: RemoteSettingsRecord) async throws -> Data
    /// Syncs this collection. Uses the network.
    func sync() async throws
    /// Removes what is stored of the collection.
    func resetStorage() throws
    /// Ends the client. Its syncs fail from now on, including those under way. Reads are still answered.
    func shutdown()
}

extension RemoteSettingsService: AsyncRemoteSettingsService {}
extension RemoteSettingsClient: AsyncRemoteSettingsClient {}
