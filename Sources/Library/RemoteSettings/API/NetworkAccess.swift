import RemoteSettingsModel

/// Which collections may use the network.
///
/// Where the network is not allowed, reads are answered from what is packaged and stored, and every call that would
/// send a request fails at once and says so. If no collection may use it, no connection is ever made.
///
/// Open: a later version may add cases, so a `switch` needs a `default`.
public enum NetworkAccess: Hashable, Sendable {
    /// All collections.
    case allowed
    /// All but these, each by its name in the configured bucket, or as `bucket/name`.
    case allowedExcept(Set<String>)
    /// None.
    case never
}

extension Session {
    /// - Parameter id: a collection; `nil` for what concerns all.
    /// - Throws: ``RemoteSettingsError/notAllowed(reason:)`` if the configuration does not allow the network.
    func checkNetwork(_ id: CollectionID? = nil) throws(RemoteSettingsError) {
        switch config.network {
        case .allowed: return
        case .never:
            throw .notAllowed(
                reason:
                    "\(id.map { "\($0)" } ?? "the service"): no request was made, because "
                    + "RemoteSettingsConfig.network is "
                    + ".never")
        case .allowedExcept(let names):
            guard let id, names.contains(where: { (try? collectionID($0)) == id }) else { return }
            throw .notAllowed(
                reason: "\(id): no request was made, because RemoteSettingsConfig.network excludes this collection")
        }
    }
}
