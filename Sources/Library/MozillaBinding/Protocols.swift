import RemoteSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What an app calls on a ``RemoteSettingsService``, with exactly the requirements of Mozilla's Swift binding.
public protocol RemoteSettingsServiceProtocol: AnyObject, Sendable {
    /// The base URL of the server's API.
    func clientUrl() -> String
    /// The client of a collection of the service's bucket. Does no I/O.
    func makeClient(collectionName: String) -> RemoteSettingsClient
    /// Sets the receiver of each sync's outcome.
    func setTelemetry(telemetry: any RemoteSettingsTelemetry)
    /// Syncs the collections of all clients. Uses the network, and blocks the calling thread.
    ///
    /// - Returns: the names of the collections that changed.
    func sync() throws -> [String]
    /// Changes the configuration of the service and of its clients.
    func updateConfig(config: RemoteSettingsConfig) throws
}

/// What an app calls on a ``RemoteSettingsClient``, with exactly the requirements of Mozilla's Swift binding.
///
/// A stand-in that was written for the binding fits, and may throw errors of its own.
public protocol RemoteSettingsClientProtocol: AnyObject, Sendable {
    /// The name of the collection, without its bucket.
    func collectionName() -> String
    /// A record's attachment.
    ///
    /// If it is neither stored nor packaged, the call uses the network and blocks the calling thread.
    func getAttachment(record: RemoteSettingsRecord) throws -> Data
    /// The timestamp of what is held, in milliseconds since 1970.
    func getLastModifiedTimestamp() -> UInt64?
    /// The records that are held; `nil` if there are none.
    ///
    /// If nothing is held and `syncIfEmpty` is set, the collection is synced first. The call then uses the network and
    /// blocks the calling thread.
    func getRecords(syncIfEmpty: Bool) -> [RemoteSettingsRecord]?
    /// The records of ``getRecords(syncIfEmpty:)``, by their ids.
    func getRecordsMap(syncIfEmpty: Bool) -> [String: RemoteSettingsRecord]?
    /// Removes what is stored of the collection.
    func resetStorage() throws
    /// Ends the client. Its syncs fail from now on, including those under way. Reads are still answered.
    func shutdown()
    /// Syncs this collection. Uses the network, and blocks the calling thread.
    func sync() throws
}

extension RemoteSettingsClientProtocol {
    /// The records that are held; `nil` if there are none. Never uses the network.
    public func getRecords() -> [RemoteSettingsRecord]? { getRecords(syncIfEmpty: false) }

    /// The records that are held, by their ids; `nil` if there are none. Never uses the network.
    public func getRecordsMap() -> [String: RemoteSettingsRecord]? { getRecordsMap(syncIfEmpty: false) }
}
