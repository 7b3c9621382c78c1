import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

extension OriginTransport {
    /// A configuration for an app that uses this server. It has the server's URL and root, this object as the network,
    /// and no update channel.
    ///
    /// Waits between two attempts of a request take at most two milliseconds. Time limits of half a minute or more are
    /// not shortened.
    public var config: RemoteSettingsConfig {
        var config = RemoteSettingsConfig(server: .custom(url: url), trustRoots: root)
        config.updates = .off
        config.transport = self
        config.environment.sleep = { try await Task.sleep(for: $0 >= .seconds(30) ? $0 : min($0, .milliseconds(2))) }
        return config
    }

    /// Packages collections in their current state, as if they were embedded in the app.
    ///
    /// - Throws: an error if one of them was deleted.
    public func packaged(_ collections: ServerCollection...) throws -> PackagedSource {
        var bundles: [String: Bytes] = [:]
        var lock = LockFile()
        for collection in collections {
            let packed = try state.withLock { try $0.collections[collection.collection]?.packed(at: address) }
            guard let packed else {
                throw RemoteSettingsError.other(
                    reason: "\(collection.id): the collection was deleted; create it again with create()")
            }
            bundles[collection.id] = packed.bytes
            lock.collections[collection.collection] = packed.lock
        }
        return .embedded(lock: Bytes(lock.text), bundles: bundles, name: "packaged in this test")
    }
}
