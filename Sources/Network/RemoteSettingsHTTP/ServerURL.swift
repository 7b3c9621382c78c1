import RemoteSettingsModel
import SnapshotBundle

/// The base URL of a Remote Settings server, such as `https://firefox.settings.services.mozilla.com/v2`.
///
/// It must use `https`, except for a loopback address (`localhost`, 127.0.0.0/8, `[::1]`) or if the caller explicitly
/// allows plain `http`.
package struct ServerURL: Hashable, Sendable {
    /// Mozilla's production server.
    package static let production = ServerURL(host: "firefox.settings.services.mozilla.com")
    /// Mozilla's staging server.
    package static let stage = ServerURL(host: "firefox.settings.services.allizom.org")
    /// Mozilla's development server.
    package static let dev = ServerURL(host: "remote-settings-dev.allizom.org")

    /// The URL, without a trailing slash.
    package let url: HTTPURL
    let allowsPlainHTTP: Bool

    private init(host: String) {
        url = HTTPURL(scheme: .https, host: host, path: "/v2")
        allowsPlainHTTP = false
    }

    /// Parses a base URL, or one of the names `prod`, `stage` and `dev`.
    ///
    /// If the path does not end with `/v1` or `/v2`, the newest supported version, `/v2`, is appended. A trailing slash
    /// is accepted.
    ///
    /// - Throws: ``Failure`` with ``Failure/invalidURL(_:)`` or ``Failure/insecure``.
    package init(_ text: String, allowPlainHTTP: Bool = false) throws(Failure) {
        switch text {
        case "prod": self = .production
        case "stage": self = .stage
        case "dev": self = .dev
        default:
            guard text.contains(":") else {
                throw Failure(text, .invalidURL("write prod, stage, dev, or a full URL such as https://example.org/v2"))
            }
            let given = try HTTPURL(text)
            guard given.query == nil else {
                throw Failure(text, .invalidURL("a server's base URL must not have a query"))
            }
            var path = given.path[...]
            while path.hasSuffix("/") { path = path.dropLast() }
            let last = path.split(separator: "/").last ?? ""
            if last != "v1" && last != "v2" {
                guard last.first != "v" || last.count < 2 || !last.dropFirst().allSatisfy(\.isNumber) else {
                    throw Failure(text, .invalidURL("the API version must be /v1 or /v2, not /\(last)"))
                }
                path += "/v2"
            }
            url = HTTPURL(scheme: given.scheme, host: given.host, port: given.port, path: String(path))
            allowsPlainHTTP = allowPlainHTTP
            try checkScheme(of: url)
        }
    }

    /// Checks a URL's scheme.
    ///
    /// - Throws: ``Failure`` with ``Failure/insecure`` for plain `http` that this server does not allow.
    func checkScheme(of url: HTTPURL) throws(Failure) {
        guard url.scheme == .https || url.isLoopback || allowsPlainHTTP else { throw Failure(url, .insecure) }
    }

    /// Checks a URL that the server sent. It must not be less secure than the server's own URL.
    func checkReference(_ url: HTTPURL) throws(Failure) {
        try checkScheme(of: url)
        guard url.scheme == .https || self.url.scheme == .http else { throw Failure(url, .insecure) }
    }

    /// The base URL without the protocol version. A server has the same collections under `/v1` and `/v2`.
    package var withoutVersion: String { String(url.description.dropLast(3)) }

    /// Returns whether both are the same server, regardless of the protocol version.
    package func isSameServer(as other: ServerURL) -> Bool { withoutVersion == other.withoutVersion }

    /// The built-in roots of this server; `nil` if it is not one of Mozilla's.
    package var mozillaRoots: TrustAnchors? {
        if isSameServer(as: .production) { return .mozillaProduction }
        return [Self.stage, .dev].contains(where: isSameServer) ? .mozillaStaging : nil
    }

    /// The base URL with a trailing slash: the URL of the root document, and the base of relative references.
    package var root: HTTPURL { url.appending(path: "/") }

    /// Returns the URL of a changeset.
    ///
    /// - Parameters:
    ///   - expected: the collection's timestamp in the monitor, which bypasses outdated caches; `nil` to send 0.
    ///   - since: the timestamp of the local state; `nil` to request all records.
    ///   - quoted: whether to put `_since` in double quotes, as old servers require.
    func changeset(
        _ collection: CollectionID, expected: Timestamp?, since: Timestamp?, quoted: Bool = false
    ) -> HTTPURL {
        var query = "_expected=\(expected?.milliseconds ?? 0)"
        if let since { query += quoted ? "&_since=%22\(since)%22" : "&_since=\(since)" }
        return url.appending(
            path: "/buckets/\(collection.bucket)/collections/\(collection.name)/changeset", query: query)
    }

    /// Returns the URL of the monitor's changeset, which lists every collection with the time of its last change.
    func monitor(expected: Timestamp?, since: Timestamp?, quoted: Bool = false) -> HTTPURL {
        var query = "_expected=\(expected?.milliseconds ?? 0)"
        if let since { query += quoted ? "&_since=%22\(since)%22" : "&_since=\(since)" }
        return url.appending(path: "/buckets/monitor/collections/changes/changeset", query: query)
    }
}

extension ServerURL: CustomStringConvertible {
    package var description: String { url.description }
}
