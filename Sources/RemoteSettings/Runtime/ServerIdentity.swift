import RemoteSettingsHTTP

/// Whether two URLs name the same server: the versions of its protocol (`/v1`, `/v2`) give the same collections.
struct ServerIdentity: Hashable, CustomStringConvertible {
    let description: String

    init(_ server: ServerURL) {
        description = Self.withoutVersion(server.description)
    }

    /// - Parameter text: a URL as a lock or a cache file has it.
    init(_ text: String) {
        description = Self.withoutVersion((try? ServerURL(text, allowPlainHTTP: true))?.description ?? text)
    }

    private static func withoutVersion(_ url: String) -> String {
        url.hasSuffix("/v1") || url.hasSuffix("/v2") ? String(url.dropLast(3)) : url
    }
}
