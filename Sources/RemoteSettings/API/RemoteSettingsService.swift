import RemoteSettingsModel
import Synchronization

/// Remote Settings for an app: gives clients for collections, and syncs them all.
///
/// Nothing that a client reads needs the network: records come from the newest of what a sync has stored and what was
/// packaged with the app.
///
///     let service = RemoteSettingsService(storageDir: path, config: RemoteSettingsConfig())
///     let client = service.makeClient(collectionName: "regions")
///     let records = client.getRecords()
public final class RemoteSettingsService: Sendable {
    let core: ServiceCore

    /// Does no I/O: what is wrong with the configuration shows when it is first used.
    ///
    /// - Parameter storageDir: the path of a directory for what syncs store. It is made when it is needed. Several
    ///   processes may share one.
    public init(storageDir: String, config: RemoteSettingsConfig) {
        core = ServiceCore(storage: StorageDirectory(path: storageDir), config: config)
    }

    /// Like ``init(storageDir:config:)``, and looks at once whether everything packaged can be served. Does I/O.
    ///
    /// Each packaged bundle has to be there, of the configured server, of the state that its lock says, and signed up
    /// to a pinned root by what the lock says. Signatures are verified when records are first read, and by
    /// `rsdump verify`.
    ///
    /// - Throws: ``RemoteSettingsError/Other(reason:)`` with everything that is wrong.
    public convenience init(storageDir: String, validating config: RemoteSettingsConfig) throws(RemoteSettingsError) {
        self.init(storageDir: storageDir, config: config)
        try core.session.validatePackaged()
    }

    /// A client for a collection. Does no I/O.
    ///
    /// - Parameter collectionName: the collection's name, in the bucket of the configuration; or `bucket/name`.
    public func makeClient(collectionName: String) -> RemoteSettingsClient {
        RemoteSettingsClient(collectionName, core)
    }

    /// The same as ``makeClient(collectionName:)``.
    public func makeClient(collection: String) -> RemoteSettingsClient {
        makeClient(collectionName: collection)
    }

    /// Brings every collection that has a client to the server's state. Uses the network.
    ///
    /// - Returns: the names of those that are now at the server's state, as their clients were made, sorted.
    /// - Throws: ``RemoteSettingsError`` where the server's list of collections could not be had, or where every
    ///   collection failed. ``syncCollections(expectedTimestamp:)`` tells about each.
    @discardableResult
    public func sync() async throws(RemoteSettingsError) -> [String] {
        let results = try await syncCollections()
        let synced = results.filter(\.isSynced)
        if synced.isEmpty, case .failure(let error)? = results.first?.result { throw error }
        let bucket = core.session.bucketName
        return synced.map { result in
            result.collection.hasPrefix("\(bucket)/")
                ? String(result.collection.dropFirst(bucket.utf8.count + 1)) : result.collection
        }
    }

    /// Like ``sync()``, with what became of each collection: one that fails does not stop the others.
    ///
    /// - Parameter expectedTimestamp: the number that a push message gave.
    /// - Throws: ``RemoteSettingsError`` where the server's list of collections could not be had.
    @discardableResult
    public func syncCollections(
        expectedTimestamp: UInt64? = nil
    ) async throws(RemoteSettingsError) -> [CollectionSyncResult] {
        let expected = expectedTimestamp.map(Timestamp.init(milliseconds:))
        let session = core.session
        for id in core.collectionsWithClients(session) { _ = session.collection(id) }
        return try await session.syncAll(expected: expected, trigger: expected == nil ? .manual : .broadcast).get()
    }

    /// Puts another configuration in place, for the clients that there are as well. Ends syncs that are under way.
    ///
    /// - Throws: ``RemoteSettingsError/Other(reason:)`` where the server's URL or the bucket's name is not valid; then
    ///   the present configuration stays.
    public func updateConfig(config: RemoteSettingsConfig) throws(RemoteSettingsError) {
        try core.update(config)
    }

    /// The server's base URL; empty where the configured one is not valid.
    public func clientUrl() -> String {
        (try? core.session.server.get()).map { "\($0)" } ?? ""
    }

    /// Sets who receives what becomes of syncs, those under way included, until the next ``updateConfig(config:)``.
    public func setTelemetry(telemetry: any RemoteSettingsTelemetry) {
        core.setTelemetry(telemetry)
    }

    /// Ends syncs that are under way and every stream of changes. Reads go on being answered; syncs fail.
    public func shutdown() {
        core.shutdown()
    }
}
