import RemoteSettingsModel

/// Sends one `GET` request and returns the answer as it arrives. It is the only way to the network.
///
/// A transport is simple. It follows no redirects, repeats nothing, keeps no cookies and no cache, and sends only the
/// request's headers, `Host`, and what the connection requires. `ServerClient` decides everything that depends on
/// status, headers and bytes, once for all transports.
///
/// A transport guarantees:
/// - time: the head of the answer arrives within ``HTTPRequest/headTimeout``, and the body never pauses for longer than
///   ``HTTPRequest/idleTimeout``. Otherwise the call fails with ``HTTPError/Reason/timeout(_:seconds:)``;
/// - memory: the body is read only as fast as ``HTTPBody/next()`` asks for it;
/// - completeness: a body that ends before its `Content-Length`, its last chunk or the end of its compressed stream
///   fails with ``HTTPError/Reason/truncated(expected:received:)``, or with ``HTTPError/Reason/connection(_:)`` if the
///   transport does not know more;
/// - compression: none. The body is passed on as it arrives on the wire, and `ServerClient` decompresses it. A
///   transport that always decompresses sets ``HTTPResponse/isDecoded``, and enforces ``HTTPRequest/wireLimit``. The
///   headers are those that the server sent;
/// - cancellation: in a cancelled task, `send` and `next` end soon, with ``HTTPError/Reason/cancelled``. Releasing the
///   response stops its transfer.
///
/// This transport answers from a table. It is complete, and enough for tests:
/// ```swift
/// struct TableTransport: HTTPTransport {
///     var documents: [String: [UInt8]]
///
///     func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
///         guard let bytes = documents[request.url.description] else {
///             return HTTPResponse(status: 404, headers: HTTPHeaders(), body: Pieces(left: []))
///         }
///         let headers = HTTPHeaders([.init("Content-Length", String(bytes.count))])
///         return HTTPResponse(status: 200, headers: headers, body: Pieces(left: [bytes]))
///     }
///
///     struct Pieces: HTTPBody {
///         var left: [[UInt8]]
///         mutating func next() async throws(HTTPError) -> [UInt8]? { left.isEmpty ? nil : left.removeFirst() }
///     }
/// }
/// ```
package protocol HTTPTransport: Sendable {
    /// Sends the request and waits for the head of the answer. An answer with any status is returned, not thrown.
    ///
    /// - Throws: ``HTTPError`` with the request's URL.
    func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse
}

/// A `GET` request.
package struct HTTPRequest: Sendable, Hashable {
    /// The URL of the request.
    package var url: HTTPURL
    /// The header fields to send.
    package var headers: HTTPHeaders
    /// The longest time from the call until the head of the answer, including the connection.
    package var headTimeout: Duration
    /// The longest wait for more of the body.
    package var idleTimeout: Duration
    /// The largest size of the body on the wire in bytes. Only transports that decompress must check it.
    package var wireLimit: Int

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - url: the URL of the request.
    ///   - headers: the header fields to send.
    ///   - headTimeout: the longest time from the call until the head of the answer, including the connection.
    ///   - idleTimeout: the longest wait for more of the body.
    ///   - wireLimit: the largest size of the body on the wire in bytes; `.max` for no limit.
    init(
        url: HTTPURL, headers: HTTPHeaders, headTimeout: Duration, idleTimeout: Duration, wireLimit: Int = .max
    ) {
        self.url = url
        self.headers = headers
        self.headTimeout = headTimeout
        self.idleTimeout = idleTimeout
        self.wireLimit = wireLimit
    }
}

/// The head of an answer, with a body that is still to be read.
package struct HTTPResponse {
    /// The status code, from 100 to 599.
    package var status: Int
    /// The header fields of the answer.
    var headers: HTTPHeaders
    /// The body, which arrives while it is read.
    package var body: any HTTPBody
    /// Whether the body is already decompressed although the headers name a `Content-Encoding`.
    var isDecoded: Bool
    /// Whether the answer came over a connection that carries many requests at once (HTTP/2).
    package var isMultiplexed = false

    /// Makes a response.
    ///
    /// - Parameters:
    ///   - status: the status code, from 100 to 599.
    ///   - headers: the header fields of the answer.
    ///   - body: the body, which arrives while it is read.
    ///   - isDecoded: whether the transport has already decompressed the body.
    package init(status: Int, headers: HTTPHeaders, body: any HTTPBody, isDecoded: Bool = false) {
        self.status = status
        self.headers = headers
        self.body = body
        self.isDecoded = isDecoded
    }
}

/// The body of an answer, read piece by piece by one reader.
package protocol HTTPBody {
    /// Waits for the next bytes, at least one; `nil` at the body's end.
    ///
    /// - Throws: ``HTTPError`` with the request's URL. Nothing can be read after an error.
    mutating func next() async throws(HTTPError) -> [UInt8]?
}
