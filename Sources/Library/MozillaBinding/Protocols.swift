import RemoteSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The interface of a ``RemoteSettingsService``, with exactly the requirements of Mozilla's Swift binding.
public protocol RemoteSettingsServiceProtocol: AnyObject, Sendable {
    /// Returns the base URL of the server's API.
    func clientUrl() -> String
    /// Creates a client for a collection in the service's bucket. Does no I/O.
    func makeClient(collectionName: String) -> RemoteSettingsClient
    /// Sets the receiver of sync outcomes.
    func setTelemetry(telemetry: any RemoteSettingsTelemetry)
    /// Syncs the collections of all clients. Uses the network, and blocks the calling thread.
    ///
    /// - Returns: the names of the collections that changed.
    func sync() throws -> [String]
    /// Changes the configuration of the service and of its clients.
    func updateConfig(config: RemoteSettingsConfig) throws
}

/// The interface of a ``RemoteSettingsClient``, with exactly the requirements of Mozilla's Swift binding.
///
/// A test double written for the binding can conform to it without changes, and may throw its own errors.
public protocol RemoteSettingsClientProtocol: AnyObject, Sendable {
    /// Returns the name of the collection, without its bucket.
    func collectionName() -> String
    /// Returns a record's attachment.
    ///
    /// If it is neither stored nor packaged, the call uses the network and blocks the calling thread.
    func getAttachment(record: RemoteSettingsRecord) throws -> Data
    /// Returns the timestamp of the local records, in milliseconds since 1970; `nil` if there are none.
    func getLastModifiedTimestamp() -> UInt64?
    /// Returns the local records; `nil` if there are none.
    ///
    /// If there are none and `syncIfEmpty` is set, the collection is synced first. The call then uses the network and
    /// blocks the calling thread.
    func getRecords(syncIfEmpty: Bool) -> [RemoteSettingsRecord]?
    /// Returns the records of ``getRecords(syncIfEmpty:)``, by id.
    func getRecordsMap(syncIfEmpty: Bool) -> [String: RemoteSettingsRecord]?
    /// Removes the stored data of the collection.
    func resetStorage() throws
    /// Shuts down the client. Its syncs fail from now on, including running ones. Reads still work.
    func shutdown()
    /// Syncs this collection. Uses the network, and blocks the calling thread.
    func sync() throws
}

extension RemoteSettingsClientProtocol {
    /// Returns the local records; `nil` if there are none. Never uses the network.
    public func getRecords() -> [RemoteSettingsRecord]? { getRecords(syncIfEmpty: false) }

    /// Returns the local records, by id; `nil` if there are none. Never uses the network.
    public func getRecordsMap() -> [String: RemoteSettingsRecord]? { getRecordsMap(syncIfEmpty: false) }
}
