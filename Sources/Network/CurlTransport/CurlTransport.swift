import RemoteSettingsHTTP
import RemoteSettingsModel

/// The HTTP transport of the command-line tool, and of apps on non-Apple systems. It uses libcurl and reuses
/// connections.
///
/// - For `https`, ALPN (RFC 7301) selects the protocol: HTTP/2 over one connection, or HTTP/1.1 over several. Plain
///   `http` uses HTTP/1.1.
/// - All transfers run on one thread that belongs to the transport. It starts with the first request, and exits after
///   the transport is released and its last transfer has finished. Network waits never block a thread of Swift's task
///   pool.
/// - If a body is not read, the transport buffers about 1 MB of it. Over HTTP/2, libcurl 7.88 buffers up to 32 MB more,
///   and the other requests on the connection continue.
/// - If an HTTP/2 connection breaks before any byte of a request's response has arrived, the transport sends the
///   request again immediately, once.
/// - Server certificates are verified against the system's certificate authorities, or those in the environment
///   (`CertificateAuthorities`). The transport supports only `http` and `https`. It uses no cookies, `.netrc`, stored
///   credentials or signal handlers.
/// - Proxies come from the same environment variables as for the tool `curl`: `http_proxy` (lower case only),
///   `https_proxy` and `all_proxy`, and `no_proxy` for hosts that bypass the proxy.
package final class CurlTransport: HTTPTransport {
    private let loop: CurlLoop

    /// Creates a transport. Does no I/O.
    ///
    /// - Parameter connectionsPerHost: the largest number of connections to one host. Further requests wait for one of
    ///   these, and the wait counts toward their time-out.
    package init(connectionsPerHost: Int = 8) {
        loop = CurlLoop(connectionsPerHost: max(1, connectionsPerHost), authorities: .ofEnvironment)
    }

    deinit { loop.close() }

    package func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
        let answer = AnswerBuffer(mostBuffered: CurlTransfer.mostBuffered)
        let id = try loop.start(request, answer)
        // Releasing the body, or throwing from here, stops the transfer.
        let body = BufferedBody(
            answer, url: request.url, resume: { [loop] in loop.resume(id) }, stop: { [loop] in loop.drop(id) })
        let head = try await body.head()
        var response = HTTPResponse(status: head.status, headers: head.headers, body: body)
        response.isMultiplexed = head.isMultiplexed
        return response
    }
}

/// The certificate authorities that replace the system's, from the same environment variables as for the tool `curl`:
/// the PEM file `CURL_CA_BUNDLE`, or else the PEM file `SSL_CERT_FILE` and the directory `SSL_CERT_DIR`.
struct CertificateAuthorities {
    let file: String?
    let directory: String?

    static var ofEnvironment: Self {
        func variable(_ name: String) -> String? {
            unsafe getenv(name).map { unsafe String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        if let bundle = variable("CURL_CA_BUNDLE") { return Self(file: bundle, directory: nil) }
        return Self(file: variable("SSL_CERT_FILE"), directory: variable("SSL_CERT_DIR"))
    }
}
