import RemoteSettingsHTTP

/// The transport of apps on systems other than Apple's: libcurl, HTTP/1.1 with connections kept alive.
///
/// - All transfers run on one thread of the transport's own, which starts with the first request and ends with the
///   transport and its last transfer. No thread of Swift's task pool waits for the network.
/// - If a body is not read, its connection is not read either: the transport buffers about 300 KB of it.
/// - Servers' certificates are verified against the system's authorities, or those given. The transport speaks only
///   `http` and `https`, and uses no cookies, `.netrc`, stored credentials or signal handlers.
/// - Proxies are those of the environment, as for the tool `curl`: `http_proxy` (in lower case only), `https_proxy`,
///   `all_proxy`, and `no_proxy` for the hosts that are asked directly.
package final class CurlTransport: HTTPTransport {
    private let loop: CurlLoop

    /// Makes a transport. Does no I/O.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: the most connections to one host. Further requests to it wait for one of these while
    ///     their time-out runs.
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
        return HTTPResponse(status: head.status, headers: head.headers, body: body)
    }
}
