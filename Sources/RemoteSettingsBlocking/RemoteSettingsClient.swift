import RemoteSettings

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A client whose calls block the calling thread, in the shape of Mozilla's Swift binding: for code that moves over.
///
/// The class can be subclassed for tests; ``init(noHandle:)`` makes a client that holds nothing.
open class RemoteSettingsClient: RemoteSettingsClientProtocol, @unchecked Sendable {
    // Unchecked, as the compiler checks `Sendable` for final classes only. All that is stored is one constant that is.

    /// Says that an object is to be inert.
    public struct NoHandle: Sendable {
        /// The only value.
        public init() {}
    }

    /// The same client for asynchronous code, with everything that the binding does not have.
    public let asynchronous: RemoteSettings.RemoteSettingsClient

    /// The blocking calls of a client that there is.
    public init(_ client: RemoteSettings.RemoteSettingsClient) {
        asynchronous = client
    }

    /// A client without storage and network, for subclasses in tests. It holds nothing, and its syncs fail.
    public init(noHandle: NoHandle) {
        asynchronous = RemoteSettings.RemoteSettingsService.inert().makeClient(collectionName: "inert")
    }

    /// The same as ``init(noHandle:)``: subclasses that were written for the binding have to implement it.
    public required init(unsafeFromHandle handle: UInt64) {
        asynchronous = RemoteSettings.RemoteSettingsService.inert().makeClient(collectionName: "inert")
    }

    /// The name that the client was made with.
    open func collectionName() -> String { asynchronous.collectionName() }

    /// A record's attachment, from the storage directory, the package or the network. In the last case the call blocks
    /// the calling thread.
    ///
    /// - Throws: `RemoteSettingsError`, also if the record has no attachment.
    open func getAttachment(record: RemoteSettingsRecord) throws -> Data {
        let client = asynchronous
        return try blocking { () async throws(RemoteSettingsError) in try await client.getAttachment(record: record) }
    }

    /// Like ``getAttachment(record:)``, for the attachment at a location that a record of the collection names.
    ///
    /// - Throws: `RemoteSettingsError`, also if no record has an attachment there.
    public func getAttachment(location: String) throws -> Data {
        let client = asynchronous
        return try blocking { () async throws(RemoteSettingsError) in
            try await client.getAttachment(location: location)
        }
    }

    /// The collection's timestamp, in milliseconds since 1970; `nil` if nothing is held. Never uses the network.
    open func getLastModifiedTimestamp() -> UInt64? { asynchronous.getLastModifiedTimestamp() }

    /// The records that are for this app, all of one state of the collection, sorted by id; `nil` if nothing is held.
    ///
    /// - Parameter syncIfEmpty: whether the collection is synced first if nothing is held. Then the call uses the
    ///   network and blocks the calling thread.
    open func getRecords(syncIfEmpty: Bool) -> [RemoteSettingsRecord]? {
        let client = asynchronous
        return client.getRecords()
            ?? (syncIfEmpty ? blocking { await client.getRecords(syncIfEmpty: true) } : nil)
    }

    /// The records of ``getRecords(syncIfEmpty:)``, by their ids.
    open func getRecordsMap(syncIfEmpty: Bool) -> [String: RemoteSettingsRecord]? {
        let client = asynchronous
        return client.getRecordsMap()
            ?? (syncIfEmpty ? blocking { await client.getRecordsMap(syncIfEmpty: true) } : nil)
    }

    /// Removes everything that was stored of the collection. What is packaged serves again. Does I/O.
    ///
    /// - Throws: `RemoteSettingsError.Other` if the files cannot be removed, or another process is writing.
    open func resetStorage() throws { try asynchronous.resetStorage() }

    /// Ends this client: its syncs fail, those under way included. Reads go on being answered.
    open func shutdown() { asynchronous.shutdown() }

    /// Brings the collection to the server's state. Uses the network, and blocks the calling thread.
    ///
    /// - Throws: `RemoteSettingsError`. The records that were held stay.
    open func sync() throws {
        let client = asynchronous
        try blocking { () async throws(RemoteSettingsError) in try await client.sync() }
    }
}
