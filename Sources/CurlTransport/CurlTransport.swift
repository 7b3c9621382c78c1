import RemoteSettingsHTTP

/// The transport of apps elsewhere than on Apple systems: libcurl, HTTP/1.1 with connections kept alive.
///
/// - All transfers run on one thread of the transport's own, which starts with the first request and ends with the
///   transport and its last transfer. No task's thread waits for the network.
/// - A body that is not read stops its connection: about 300 KB of it are held, whatever the server sends.
/// - Servers' certificates are verified against the system's authorities, or those given. Nothing but `http` and
///   `https` is spoken; there are no cookies, no `.netrc`, no stored credentials and no signal handlers.
/// - Proxies are those of the environment, as for the tool `curl`: `http_proxy` (in lower case only), `https_proxy`,
///   `all_proxy`, and `no_proxy` for the hosts that are asked directly.
public final class CurlTransport: HTTPTransport {
    private let loop: CurlLoop

    /// Does no I/O.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: further requests to the same host wait for one of these, and their time-out runs
    ///     meanwhile.
    ///   - certificateAuthorities: the path of a PEM file that takes the place of the system's authorities.
    public init(connectionsPerHost: Int = 8, certificateAuthorities: String? = nil) {
        loop = CurlLoop(
            connectionsPerHost: max(1, connectionsPerHost), certificateAuthorities: certificateAuthorities)
    }

    deinit {
        loop.close()
    }

    public func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        // Dropping the body, or leaving here with an error, stops the transfer.
        let body = try CurlBody(request, loop)
        let head = try await body.head()
        let response = HTTPResponse(status: head.status, headers: head.headers, body: body)
        return try response.decoded(for: request)
    }
}

/// The reader's end of a transfer.
private final class CurlBody: HTTPBody {
    private let answer = AnswerBuffer(mostBuffered: CurlTransfer.mostBuffered)
    private let url: HTTPURL
    private let loop: CurlLoop
    private let id: UInt64

    init(_ request: HTTPRequest, _ loop: CurlLoop) throws(HTTPError) {
        url = request.url
        self.loop = loop
        id = try loop.start(request, answer)
    }

    deinit {
        loop.drop(id)
    }

    func head() async throws(HTTPError) -> AnswerBuffer.Head {
        let cancel = cancellation
        return try await withTaskCancellationHandler { [answer] () async -> Result<AnswerBuffer.Head, HTTPError> in
            await answer.head()
        } onCancel: {
            cancel()
        }.get()
    }

    func next() async throws(HTTPError) -> [UInt8]? {
        let cancel = cancellation
        return try await withTaskCancellationHandler {
            [answer, loop, id] () async -> Result<[UInt8]?, HTTPError> in
            await answer.next { loop.resume(id) }
        } onCancel: {
            cancel()
        }.get()
    }

    private var cancellation: @Sendable () -> Void {
        { [answer, loop, id, url] in
            answer.cancel(HTTPError(url, .cancelled))
            loop.drop(id)
        }
    }
}
