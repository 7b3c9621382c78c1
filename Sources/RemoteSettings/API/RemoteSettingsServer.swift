import RemoteSettingsHTTP

/// Which server to ask.
public enum RemoteSettingsServer: Hashable, Sendable {
    /// Mozilla's production server.
    case prod
    /// Mozilla's staging server.
    case stage
    /// Mozilla's development server.
    case dev
    /// Another server, by its base URL, such as `https://settings.example.org/v1`. Without a version, `/v1` is meant.
    ///
    /// `https` is required, except on this machine or where ``RemoteSettingsConfig/allowsPlainHTTP`` is set.
    case custom(url: String)

    func serverURL(allowPlainHTTP: Bool) throws(RemoteSettingsError) -> ServerURL {
        switch self {
        case .prod: return .prod
        case .stage: return .stage
        case .dev: return .dev
        case .custom(var url):
            while url.hasSuffix("/") { url.removeLast() }
            if !url.hasSuffix("/v1"), !url.hasSuffix("/v2") { url += "/v1" }
            do throws(HTTPError) {
                return try ServerURL(url, allowPlainHTTP: allowPlainHTTP)
            } catch {
                throw .Other(reason: "RemoteSettingsConfig.server: \(error)")
            }
        }
    }
}
