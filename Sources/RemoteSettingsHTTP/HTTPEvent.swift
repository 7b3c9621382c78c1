import RemoteSettingsModel

/// What happened on the way to an answer, for people to see.
public enum HTTPEvent: Sendable, Hashable {
    /// The server's `Alert` header, as it is (JSON by the protocol): usually a deprecation. Given once for each text.
    case alert(String, url: HTTPURL)
    /// The request failed and is repeated after a pause; `attempt` counts from 1.
    case retry(HTTPError, attempt: Int, after: Duration)
    case redirect(from: HTTPURL, to: HTTPURL)
    /// The server asked for no requests until then.
    case hold(BackoffState.Hold)
}

/// What a client has asked for so far.
public struct HTTPMetrics: Sendable, Hashable {
    /// Requests sent, redirects and repetitions included.
    public var requests = 0
    /// Requests that were repetitions of failed ones.
    public var retries = 0
    /// Bytes of bodies received, after decompression.
    public var bodyBytes = 0

    public init() {}
}
