import RemoteSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A client whose methods block the calling thread, with the interface of Mozilla's Swift binding, for code that
/// migrates from it.
///
/// The class can be subclassed for tests. ``init(noHandle:)`` creates a client without any records.
open class RemoteSettingsClient: RemoteSettingsClientProtocol, @unchecked Sendable {
    // `@unchecked`, because the compiler checks `Sendable` only for final classes. The only stored property is a
    // `Sendable` constant.

    /// A marker that selects the initializer for a client without storage and network.
    public struct NoHandle: Sendable {
        /// Creates the only value of this type.
        public init() {}
    }

    /// The underlying asynchronous client, which also has the features that the binding lacks.
    public let asynchronous: RemoteSettings.RemoteSettingsClient

    /// Creates a blocking interface for an existing client.
    public init(_ client: RemoteSettings.RemoteSettingsClient) {
        asynchronous = client
    }

    /// Creates a client without storage and network, for subclasses in tests. It has no records, and its syncs fail.
    public init(noHandle: NoHandle) {
        asynchronous = RemoteSettings.RemoteSettingsService.inert().makeClient(collectionName: "inert")
    }

    /// Creates a client without storage and network, like ``init(noHandle:)``. Subclasses written for the binding have
    /// to implement this initializer.
    public required init(unsafeFromHandle handle: UInt64) {
        asynchronous = RemoteSettings.RemoteSettingsService.inert().makeClient(collectionName: "inert")
    }

    /// Returns the name that the client was created with.
    open func collectionName() -> String { asynchronous.collectionName }

    /// Returns a record's attachment from the storage directory, a packaged bundle or the network.
    ///
    /// If the network is needed, the call blocks the calling thread.
    ///
    /// - Throws: `RemoteSettingsError`, also if the record has no attachment.
    open func getAttachment(record: RemoteSettingsRecord) throws -> Data {
        let client = asynchronous
        if let local = client.localAttachment(for: record) { return local.data }
        return try blockingCall { () async throws(RemoteSettings.RemoteSettingsError) in
            try await client.getAttachment(record: record)
        }
    }

    /// Returns the attachment at a location that a record of the collection specifies. See ``getAttachment(record:)``.
    ///
    /// - Throws: `RemoteSettingsError`, also if no record has an attachment at this location.
    public func getAttachment(location: String) throws -> Data {
        let client = asynchronous
        return try blockingCall { () async throws(RemoteSettings.RemoteSettingsError) in
            try await client.getAttachment(location: location)
        }
    }

    /// Returns the collection's timestamp, in milliseconds since 1970; `nil` if there is no local state. Never uses the
    /// network.
    open func getLastModifiedTimestamp() -> UInt64? { asynchronous.getLastModifiedTimestamp() }

    /// Returns the records that match this app's context, sorted by id; `nil` if there is no local state. All belong to
    /// one state of the collection.
    ///
    /// - Parameter syncIfEmpty: whether to sync the collection first if there is no local state. The call then uses the
    ///   network and blocks the calling thread.
    open func getRecords(syncIfEmpty: Bool) -> [RemoteSettingsRecord]? {
        let client = asynchronous
        if let records = client.records { return records }
        guard syncIfEmpty else { return nil }
        return try? blockingCall { () async throws(RemoteSettings.RemoteSettingsError) in
            try await client.fetchRecords(.init(sync: .ifEmpty))
        }
    }

    /// Returns the records of ``getRecords(syncIfEmpty:)``, by id.
    open func getRecordsMap(syncIfEmpty: Bool) -> [String: RemoteSettingsRecord]? {
        getRecords(syncIfEmpty: syncIfEmpty).map { records in
            Dictionary(records.lazy.map { ($0.id, $0) }) { first, _ in first }
        }
    }

    /// Removes all stored data of the collection. Packaged records are then used again. Does I/O.
    ///
    /// - Throws: `RemoteSettingsError.Other` if the files cannot be removed, or if another process is writing.
    open func resetStorage() throws {
        let client = asynchronous
        try blockingCall { () async throws(RemoteSettings.RemoteSettingsError) in try await client.resetStorage() }
    }

    /// Shuts down this client. Its syncs fail from now on, including running ones. Reads still work.
    open func shutdown() { asynchronous.shutdown() }

    /// Updates the collection to the server's state. Uses the network, and blocks the calling thread.
    ///
    /// - Throws: `RemoteSettingsError`. The current records remain in use.
    open func sync() throws {
        let client = asynchronous
        _ = try blockingCall { () async throws(RemoteSettings.RemoteSettingsError) in try await client.sync() }
    }
}
