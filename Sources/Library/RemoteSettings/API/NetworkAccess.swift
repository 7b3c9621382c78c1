import RemoteSettingsModel

/// The collections that may use the network.
///
/// Without network access, reads use packaged and stored records, and every call that would send a request fails at
/// once with ``RemoteSettingsError/notAllowed(reason:)``. If no collection may use the network, the service never opens
/// a connection.
///
/// Open: a later version may add cases, so a `switch` needs a `default`.
public enum NetworkAccess: Hashable, Sendable {
    /// All collections.
    case allowed
    /// All collections except these, each given by its name in the configured bucket or as `bucket/name`.
    case allowedExcept(Set<String>)
    /// No collections.
    case never
}

extension Session {
    /// Throws if the configuration does not allow the network.
    ///
    /// - Parameter id: a collection; `nil` for requests that concern all collections.
    /// - Throws: ``RemoteSettingsError/notAllowed(reason:)``.
    func checkNetwork(_ id: CollectionID? = nil) throws(RemoteSettingsError) {
        switch config.network {
        case .allowed: return
        case .never:
            throw .notAllowed(
                reason:
                    "\(id.map { "\($0)" } ?? "the service"): no request was made, because RemoteSettingsConfig.network "
                    + "is .never")
        case .allowedExcept(let names):
            guard let id, names.contains(where: { (try? collectionID($0)) == id }) else { return }
            throw .notAllowed(
                reason: "\(id): no request was made, because RemoteSettingsConfig.network excludes this collection")
        }
    }
}
