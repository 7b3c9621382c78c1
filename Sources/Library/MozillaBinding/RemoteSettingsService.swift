import RemoteSettings

/// A service whose methods block the calling thread, with the interface of Mozilla's Swift binding, for code that
/// migrates from it.
///
/// A file that imports `RemoteSettingsBlocking` gets this class under the name `RemoteSettingsService`. A file that
/// imports `RemoteSettings` gets the asynchronous one, which is also available as ``asynchronous``. Both use the same
/// collections and storage.
///
/// Since iOS 18 and macOS 15, the work behind a call never runs on the threads of Swift's concurrency pool, so any
/// number of concurrent calls is possible in tasks, in actors and on queues. On older systems, a call that needs the
/// network must not be made in a task or actor: it stops the program with a message. Make it on a dispatch queue, or
/// use ``asynchronous``. A call on the main thread blocks the app for as long as the network takes.
///
/// The class can be subclassed for tests. ``init(noHandle:)`` creates a service without storage and network.
open class RemoteSettingsService: RemoteSettingsServiceProtocol, @unchecked Sendable {
    // `@unchecked`, because the compiler checks `Sendable` only for final classes. The only stored property is a
    // `Sendable` constant.

    /// A marker that selects the initializer for a service without storage and network.
    public struct NoHandle: Sendable {
        /// Creates the only value of this type.
        public init() {}
    }

    /// The underlying asynchronous service, which also has the features that the binding lacks.
    public let asynchronous: RemoteSettings.RemoteSettingsService

    /// Creates a service. Does no I/O. An error in the configuration is logged at once, and every sync throws it.
    ///
    /// - Parameters:
    ///   - storageDir: the path of a directory for synced data. It is created when it is first needed.
    ///   - config: the configuration, such as the server, the packaged snapshots and the trusted roots.
    public init(storageDir: String, config: RemoteSettingsConfig) {
        asynchronous =
            storageDir == ":memory:"
            ? .init(config: config) : .init(storageDirectory: storageDir, config: config)
    }

    /// Creates a blocking interface for an existing service.
    public init(_ service: RemoteSettings.RemoteSettingsService) {
        asynchronous = service
    }

    /// Creates a service without storage and network, for subclasses in tests. Its clients have no records, and its
    /// syncs fail.
    public init(noHandle: NoHandle) {
        asynchronous = .inert()
    }

    /// Creates a service without storage and network, like ``init(noHandle:)``. Subclasses written for the binding have
    /// to implement this initializer.
    public required init(unsafeFromHandle handle: UInt64) {
        asynchronous = .inert()
    }

    /// Returns the server's base URL; empty if the configured one is not valid.
    open func clientUrl() -> String { asynchronous.serverURL }

    /// Creates a client for a collection. Does no I/O.
    ///
    /// - Parameter collectionName: the collection's name in the configured bucket, or `bucket/name`.
    open func makeClient(collectionName: String) -> RemoteSettingsClient {
        RemoteSettingsClient(asynchronous.makeClient(collectionName: collectionName))
    }

    /// Creates a client for a collection, like ``makeClient(collectionName:)``.
    public func makeClient(collection: String) -> RemoteSettingsClient { makeClient(collectionName: collection) }

    /// Sets the receiver of sync outcomes, including those of running syncs.
    open func setTelemetry(telemetry: any RemoteSettingsTelemetry) {
        asynchronous.telemetry = telemetry
    }

    /// Updates every collection that has a client to the server's state. Uses the network, and blocks the calling
    /// thread.
    ///
    /// - Returns: the names of the changed collections, sorted, each as given to ``makeClient(collectionName:)``.
    /// - Throws: `RemoteSettingsError` if the server's list of collections could not be fetched, if every collection
    ///   failed, or if the service has no client, so that there is nothing to sync.
    @discardableResult
    open func sync() throws -> [String] {
        let service = asynchronous
        return try blockingCall { () async throws(RemoteSettings.RemoteSettingsError) in
            let (changed, results) = try await service.syncClients(trigger: .manual)
            if let failure = results.first?.failure, results.allSatisfy({ $0.failure != nil }) { throw failure }
            return changed
        }
    }

    /// Replaces the configuration, for existing clients as well. Running syncs are cancelled.
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
        let service = RemoteSettings.RemoteSettingsService(config: config)
        service.shutdown()
        return service
    }
}
