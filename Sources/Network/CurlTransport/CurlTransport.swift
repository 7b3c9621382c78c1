import RemoteSettingsHTTP

/// The transport of the command-line tool, and of apps on systems other than Apple's. It uses libcurl and keeps
/// connections open.
///
/// - For `https`, the server chooses the protocol (ALPN, RFC 7301): HTTP/2 over one connection, or HTTP/1.1 over
///   several. Plain `http` uses HTTP/1.1.
/// - All transfers run on one thread that belongs to the transport. It starts with the first request, and ends with the
///   transport and its last transfer. No thread of Swift's task pool waits for the network.
/// - If a body is not read, the transport buffers about 1 MB of it. Over HTTP/2, libcurl 7.88 holds up to 32 MB more,
///   and the connection's other requests continue.
/// - If an HTTP/2 connection ends before a byte of a request's answer has arrived, the request is sent once more at
///   once.
/// - Servers' certificates are verified against the system's authorities, or against given ones. The transport uses
///   only `http` and `https`, and no cookies, `.netrc`, stored credentials or signal handlers.
/// - Proxies are taken from the environment, as by the tool `curl`: `http_proxy` (in lower case only), `https_proxy`
///   and `all_proxy`, and `no_proxy` for hosts that are asked directly.
package final class CurlTransport: HTTPTransport {
    private let loop: CurlLoop

    /// Makes a transport. Does no I/O.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: the largest number of connections to one host. Further requests wait for one of these,
    ///     while their time-out runs.
    ///   - certificateAuthorities: the path of a PEM file that replaces the system's authorities.
    package init(connectionsPerHost: Int = 8, certificateAuthorities: String? = nil) {
        loop = CurlLoop(
            connectionsPerHost: max(1, connectionsPerHost), certificateAuthorities: certificateAuthorities)
    }

    deinit {
        loop.close()
    }

    package func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        let answer = AnswerBuffer(mostBuffered: CurlTransfer.mostBuffered)
        let id = try loop.start(request, answer)
        // Releasing the body, or leaving here with an error, stops the transfer.
        let body = BufferedBody(
            answer, url: request.url, resume: { [loop] in loop.resume(id) }, stop: { [loop] in loop.drop(id) })
        let head = try await body.head()
        var response = HTTPResponse(status: head.status, headers: head.headers, body: body)
        response.isMultiplexed = head.isMultiplexed
        return response
    }
}
