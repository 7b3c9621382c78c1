import RemoteSettings

/// A service whose calls block the calling thread, in the shape of Mozilla's Swift binding: for code that moves over.
///
/// A file that imports `RemoteSettingsBlocking` gets this class by the name `RemoteSettingsService`; one that imports
/// `RemoteSettings` gets the asynchronous one, which is also ``asynchronous``. Both stand for the same collections and
/// storage.
///
/// The work that a call waits for never runs on the threads of Swift's tasks, so that the calls are allowed in tasks,
/// in actors and on queues, any number of them at once. A call on the main thread stops the app for as long as the
/// network takes.
///
/// The class can be subclassed for tests; ``init(noHandle:)`` makes a service that has nothing and does nothing.
open class RemoteSettingsService: RemoteSettingsServiceProtocol, @unchecked Sendable {
    // Unchecked, as the compiler checks `Sendable` for final classes only. All that is stored is one constant that is.

    /// Says that an object is to be inert.
    public struct NoHandle: Sendable {
        /// The only value.
        public init() {}
    }

    /// The same service for asynchronous code, with everything that the binding does not have.
    public let asynchronous: RemoteSettings.RemoteSettingsService

    /// Makes a service. No I/O.
    ///
    /// - Parameters:
    ///   - storageDir: the path of a directory for what syncs store, which is made when it is first needed.
    ///   - config: the server, what is packaged, and whom to trust. What is wrong with it shows when it is first used.
    public init(storageDir: String, config: RemoteSettingsConfig) {
        asynchronous = RemoteSettings.RemoteSettingsService(storageDir: storageDir, config: config)
    }

    /// The blocking calls of a service that there is.
    public init(_ service: RemoteSettings.RemoteSettingsService) {
        asynchronous = service
    }

    /// A service without storage and network, for subclasses in tests. Its clients hold nothing, and its syncs fail.
    public init(noHandle: NoHandle) {
        asynchronous = .inert()
    }

    /// The same as ``init(noHandle:)``: subclasses that were written for the binding have to implement it.
    public required init(unsafeFromHandle handle: UInt64) {
        asynchronous = .inert()
    }

    /// The server's base URL; empty if the configured one is not valid.
    open func clientUrl() -> String { asynchronous.clientUrl() }

    /// Makes a client for a collection. No I/O.
    ///
    /// - Parameter collectionName: the collection's name, in the bucket of the configuration; or `bucket/name`.
    open func makeClient(collectionName: String) -> RemoteSettingsClient {
        RemoteSettingsClient(asynchronous.makeClient(collectionName: collectionName))
    }

    /// The same as ``makeClient(collectionName:)``.
    public func makeClient(collection: String) -> RemoteSettingsClient { makeClient(collectionName: collection) }

    /// Sets what receives the outcomes of syncs, of those under way too.
    open func setTelemetry(telemetry: any RemoteSettingsTelemetry) { asynchronous.setTelemetry(telemetry: telemetry) }

    /// Brings every collection that has a client to the server's state. Uses the network, and blocks the calling
    /// thread.
    ///
    /// - Returns: the names of the collections that have changed, as their clients were made, sorted.
    /// - Throws: `RemoteSettingsError` if the server's list of collections could not be had, or if every collection
    ///   failed.
    @discardableResult
    open func sync() throws -> [String] {
        let service = asynchronous
        return try blocking { () async throws(RemoteSettingsError) in try await service.sync() }
    }

    /// Puts another configuration in force, for the clients that there are as well. Ends syncs that are under way.
    ///
    /// - Throws: `RemoteSettingsError.Other` if the server's URL or the bucket's name is not valid.
    open func updateConfig(config: RemoteSettingsConfig) throws { try asynchronous.updateConfig(config: config) }
}

extension RemoteSettings.RemoteSettingsService {
    static func inert() -> RemoteSettings.RemoteSettingsService {
        let service = RemoteSettings.RemoteSettingsService(
            storageDir: ":memory:", config: RemoteSettingsConfig(updates: .off))
        service.shutdown()
        return service
    }
}
