import RemoteSettingsModel
import SnapshotOrigin

/// Answers paths that are not the API's: pages for people, a demonstration's controls.
public protocol PageSource: Sendable {
    /// - Returns: `nil` where the path is nobody's: the server answers 404 in JSON, and says that it depends on `Accept`.
    func answer(_ request: PageRequest) async -> PageResponse?
}

/// A request that the API has no answer for.
public struct PageRequest: Sendable {
    /// `GET`, `HEAD` or `POST`; other methods are refused before. A body is not passed on.
    public let method: String
    /// As it was sent, percent-encoded, from the slash on.
    public let path: String
    /// What stands behind the question mark, as it was sent.
    public let query: String
    /// Whether the client is on this machine.
    public let isLoopback: Bool
    /// The value of `Host`, and of `Origin` where a browser sends a page's request: both are the client's claims.
    public let host: String
    public let origin: String?
    /// Whether the client names `text/html` among what it accepts, as browsers do for what a person opens.
    public let acceptsHTML: Bool
    /// What is served now.
    public let state: ServedState
    public let now: Timestamp
}

/// The answer to a ``PageRequest``.
public struct PageResponse: Sendable {
    public var status: Int
    /// Names and values in printable ASCII; a line with anything else is left out. `Content-Length` is the server's.
    public var headers: [(name: String, value: String)]
    public var body: OriginResource.Content

    public init(status: Int, headers: [(name: String, value: String)], body: OriginResource.Content) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
