import RemoteSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A client whose calls block the calling thread, in the shape of Mozilla's Swift binding. It is for code that moves
/// over.
///
/// The class can be subclassed for tests. ``init(noHandle:)`` makes a client that holds nothing.
open class RemoteSettingsClient: RemoteSettingsClientProtocol, @unchecked Sendable {
    // It is unchecked because the compiler checks `Sendable` only for final classes. Its only stored property is a
    // `Sendable` constant.

    /// Selects the initialiser of an inert object.
    public struct NoHandle: Sendable {
        /// The only value.
        public init() {}
    }

    /// The same client for asynchronous code, with everything that the binding lacks.
    public let asynchronous: RemoteSettings.RemoteSettingsClient

    /// The blocking calls of an existing client.
    public init(_ client: RemoteSettings.RemoteSettingsClient) {
        asynchronous = client
    }

    /// A client without storage and network, for subclasses in tests. It holds nothing, and its syncs fail.
    public init(noHandle: NoHandle) {
        asynchronous = RemoteSettings.RemoteSettingsService.inert().makeClient(collectionName: "inert")
    }

    /// The same as ``init(noHandle:)``. Subclasses that were written for the binding must implement it.
    public required init(unsafeFromHandle handle: UInt64) {
        asynchronous = RemoteSettings.RemoteSettingsService.inert().makeClient(collectionName: "inert")
    }

    /// The name that the client was made with.
    open func collectionName() -> String { asynchronous.collectionName() }

    /// A record's attachment from the storage directory, the package or the network.
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

    /// Like ``getAttachment(record:)``, for the attachment at a location that a record of the collection names.
    ///
    /// - Throws: `RemoteSettingsError`, also if no record has an attachment there.
    public func getAttachment(location: String) throws -> Data {
        let client = asynchronous
        return try blockingCall { () async throws(RemoteSettings.RemoteSettingsError) in
            try await client.getAttachment(location: location)
        }
    }

    /// The collection's timestamp, in milliseconds since 1970; `nil` if nothing is held. Never uses the network.
    open func getLastModifiedTimestamp() -> UInt64? { asynchronous.getLastModifiedTimestamp() }

    /// The records that are for this app, sorted by id; `nil` if nothing is held. All are of one state of the
    /// collection.
    ///
    /// - Parameter syncIfEmpty: whether the collection is synced first if nothing is held. The call then uses the
    ///   network and blocks the calling thread.
    open func getRecords(syncIfEmpty: Bool) -> [RemoteSettingsRecord]? {
        let client = asynchronous
        if let records = client.getRecords() { return records }
        guard syncIfEmpty else { return nil }
        return try? blockingCall { () async throws(RemoteSettings.RemoteSettingsError) in
            try await client.fetchRecords(RecordQuery(sync: .ifEmpty))
        }
    }

    /// The records of ``getRecords(syncIfEmpty:)``, by their ids.
    open func getRecordsMap(syncIfEmpty: Bool) -> [String: RemoteSettingsRecord]? {
        getRecords(syncIfEmpty: syncIfEmpty).map { records in
            Dictionary(records.lazy.map { ($0.id, $0) }) { first, _ in first }
        }
    }

    /// Removes everything that is stored of the collection. Packaged records are then used again. Does I/O.
    ///
    /// - Throws: `RemoteSettingsError.Other` if the files cannot be removed, or if another process is writing.
    open func resetStorage() throws {
        let client = asynchronous
        try blockingCall { () async throws(RemoteSettings.RemoteSettingsError) in try await client.resetStorage() }
    }

    /// Ends this client. Its syncs fail, including those under way. Reads are still answered.
    open func shutdown() { asynchronous.shutdown() }

    /// Brings the collection to the server's state. Uses the network, and blocks the calling thread.
    ///
    /// - Throws: `RemoteSettingsError`. The records that were held stay.
    open func sync() throws {
        let client = asynchronous
        _ = try blockingCall { () async throws(RemoteSettings.RemoteSettingsError) in try await client.sync() }
    }
}
