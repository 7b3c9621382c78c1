import RemoteSettingsModel

/// Sends one request and returns the response as it arrives. All network access goes through this protocol.
///
/// A transport is simple. It does not follow redirects or repeat requests, has no cookies and no cache, and sends only
/// the request's headers, `Host`, and the headers that the connection requires. `ServerClient` makes every decision
/// that depends on status, headers and bytes, in one place for all transports.
///
/// A transport guarantees:
/// - time: the head of the response arrives within ``HTTPRequest/headTimeout``, and the body never pauses for longer
///   than ``HTTPRequest/idleTimeout``. Otherwise the call fails with ``Failure/timeout(_:seconds:)``;
/// - memory: the body is read only as fast as the caller calls ``HTTPBody/next()``;
/// - completeness: a body that stops before its `Content-Length`, its last chunk or the end of its compressed stream
///   fails with ``Failure/truncated(expected:received:)``, or with ``Failure/connection(_:)`` if the
///   transport has no more precise information;
/// - compression: none. The transport returns the body as it arrives on the wire, and `ServerClient` decompresses it. A
///   transport that always decompresses sets ``HTTPResponse/isDecoded``, and enforces ``HTTPRequest/wireLimit``. The
///   headers are unchanged;
/// - cancellation: in a cancelled task, `send` and `next` soon throw ``Failure/cancelled``. Releasing the
///   response stops its transfer.
///
/// This transport responds from a table. It is complete, and sufficient for tests:
/// ```swift
/// struct TableTransport: HTTPTransport {
///     var documents: [String: [UInt8]]
///
///     func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
///         guard let bytes = documents[request.url.description] else {
///             return HTTPResponse(status: 404, headers: HTTPHeaders(), body: Pieces(left: []))
///         }
///         let headers = HTTPHeaders([.init("Content-Length", String(bytes.count))])
///         return HTTPResponse(status: 200, headers: headers, body: Pieces(left: [bytes]))
///     }
///
///     struct Pieces: HTTPBody {
///         var left: [[UInt8]]
///         mutating func next() async throws(Failure) -> [UInt8]? { left.isEmpty ? nil : left.removeFirst() }
///     }
/// }
/// ```
package protocol HTTPTransport: Sendable {
    /// Sends the request and waits for the head of the response. A response with any status is returned, not thrown.
    ///
    /// - Throws: ``Failure`` with the request's URL.
    func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse
}

/// The method of a request. Servers of Remote Settings are only sent `GET`.
package enum HTTPMethod: String, Hashable, Sendable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
}

/// A request.
package struct HTTPRequest: Sendable, Hashable {
    package var method = HTTPMethod.get
    /// The body; `nil` for none. A `GET` request has none.
    package var body: Bytes?
    /// The URL of the request.
    package var url: HTTPURL
    /// The header fields to send.
    package var headers: HTTPHeaders
    /// The longest time from the call until the head of the response, including the time to connect.
    package var headTimeout: Duration
    /// The longest wait for the next bytes of the body.
    package var idleTimeout: Duration
    /// The largest size of the body on the wire in bytes. Only transports that decompress must check it.
    package var wireLimit: Int

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - url: the URL of the request.
    ///   - headers: the header fields to send.
    ///   - headTimeout: the longest time from the call until the head of the response, including the time to connect.
    ///   - idleTimeout: the longest wait for the next bytes of the body.
    ///   - wireLimit: the largest size of the body on the wire in bytes; `.max` for no limit.
    init(url: HTTPURL, headers: HTTPHeaders, headTimeout: Duration, idleTimeout: Duration, wireLimit: Int = .max) {
        self.url = url
        self.headers = headers
        self.headTimeout = headTimeout
        self.idleTimeout = idleTimeout
        self.wireLimit = wireLimit
    }
}

/// The head of a response, and its body, which has not been read yet.
package struct HTTPResponse {
    /// The status code, from 100 to 599.
    package var status: Int
    /// The header fields of the response.
    var headers: HTTPHeaders
    /// The body, which arrives as it is read.
    package var body: any HTTPBody
    /// Whether the body is already decompressed although the headers contain a `Content-Encoding`.
    var isDecoded: Bool
    /// Whether the response came over a connection that carries several requests at the same time (HTTP/2).
    package var isMultiplexed = false

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: the status code, from 100 to 599.
    ///   - headers: the header fields of the response.
    ///   - body: the body, which arrives as it is read.
    ///   - isDecoded: whether the transport has already decompressed the body.
    package init(status: Int, headers: HTTPHeaders, body: any HTTPBody, isDecoded: Bool = false) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isDecoded = isDecoded
    }
}

/// The body of a response. A single reader reads it piece by piece.
package protocol HTTPBody {
    /// Waits for the next bytes, at least one; returns `nil` at the end of the body.
    ///
    /// - Throws: ``Failure`` with the request's URL. After an error, nothing more can be read.
    mutating func next() async throws(Failure) -> [UInt8]?
}
