import RemoteSettings

/// A service whose calls block the calling thread, in the shape of Mozilla's Swift binding. It is for code that moves
/// over.
///
/// A file that imports `RemoteSettingsBlocking` gets this class under the name `RemoteSettingsService`. A file that
/// imports `RemoteSettings` gets the asynchronous one, which is also ``asynchronous``. Both use the same collections
/// and storage.
///
/// Since iOS 18 and macOS 15, the work that a call waits for never runs on the threads of Swift's tasks. So any number
/// of calls may be made at once in tasks, in actors and on queues. On older systems, a call that needs the network must
/// not be made in a task or actor: it stops the program with a message. Make it on a dispatch queue, or use
/// ``asynchronous``. A call on the main thread stops the app for as long as the network takes.
///
/// The class can be subclassed for tests. ``init(noHandle:)`` makes a service that has nothing and does nothing.
open class RemoteSettingsService: RemoteSettingsServiceProtocol, @unchecked Sendable {
    // It is unchecked because the compiler checks `Sendable` only for final classes. Its only stored property is a
    // `Sendable` constant.

    /// Selects the initialiser of an inert object.
    public struct NoHandle: Sendable {
        /// The only value.
        public init() {}
    }

    /// The same service for asynchronous code, with everything that the binding lacks.
    public let asynchronous: RemoteSettings.RemoteSettingsService

    /// Makes a service. Does no I/O. A mistake in the configuration is logged at once as an error, and every sync
    /// throws it.
    ///
    /// - Parameters:
    ///   - storageDir: the path of a directory for what syncs store. It is made when it is first needed.
    ///   - config: the server, what is packaged, and whom to trust.
    public init(storageDir: String, config: RemoteSettingsConfig) {
        asynchronous = RemoteSettings.RemoteSettingsService(storageDir: storageDir, config: config)
    }

    /// The blocking calls of an existing service.
    public init(_ service: RemoteSettings.RemoteSettingsService) {
        asynchronous = service
    }

    /// A service without storage and network, for subclasses in tests. Its clients hold nothing, and its syncs fail.
    public init(noHandle: NoHandle) {
        asynchronous = .inert()
    }

    /// The same as ``init(noHandle:)``. Subclasses that were written for the binding must implement it.
    public required init(unsafeFromHandle handle: UInt64) {
        asynchronous = .inert()
    }

    /// The server's base URL; empty if the configured one is not valid.
    open func clientUrl() -> String { asynchronous.clientUrl() }

    /// Makes a client for a collection. Does no I/O.
    ///
    /// - Parameter collectionName: the collection's name, in the configured bucket; or `bucket/name`.
    open func makeClient(collectionName: String) -> RemoteSettingsClient {
        RemoteSettingsClient(asynchronous.makeClient(collectionName: collectionName))
    }

    /// The same as ``makeClient(collectionName:)``.
    public func makeClient(collection: String) -> RemoteSettingsClient { makeClient(collectionName: collection) }

    /// Sets the receiver of the outcomes of syncs, including those under way.
    open func setTelemetry(telemetry: any RemoteSettingsTelemetry) {
        asynchronous.setTelemetry(telemetry: telemetry)
    }

    /// Brings every collection that has a client to the server's state. Uses the network, and blocks the calling
    /// thread.
    ///
    /// - Returns: the names of the collections that have changed, sorted, each as its client was made with.
    /// - Throws: `RemoteSettingsError` if the server's list of collections could not be fetched, if every collection
    ///   failed, or if the service has no client, so that there is nothing to sync.
    @discardableResult
    open func sync() throws -> [String] {
        let service = asynchronous
        return try blockingCall { () async throws(RemoteSettings.RemoteSettingsError) in try await service.sync() }
    }

    /// Puts another configuration in force, for existing clients as well. Syncs that are under way end.
    ///
    /// - Throws: `RemoteSettingsError.Other` if the configuration is not valid.
    open func updateConfig(config: RemoteSettingsConfig) throws {
        do throws(RemoteSettings.RemoteSettingsError) {
            try asynchronous.updateConfig(config: config)
        } catch {
            throw RemoteSettingsError(error)
        }
    }
}

extension RemoteSettings.RemoteSettingsService {
    static func inert() -> RemoteSettings.RemoteSettingsService {
        var config = RemoteSettingsConfig()
        config.updates = .off
        let service = RemoteSettings.RemoteSettingsService(storageDir: ":memory:", config: config)
        service.shutdown()
        return service
    }
}
