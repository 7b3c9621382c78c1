import Foundation
import RemoteSettingsHTTP

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The transport of apps: `URLSession`, on Apple systems with its handling of proxies, VPNs and App Transport Security,
/// elsewhere Foundation's own over libcurl.
///
/// `URLSession` undoes gzip itself. It notices a body shorter than its `Content-Length`, but not every compressed
/// stream that is cut; what comes of that is no valid JSON, and is refused there.
///
/// Over libcurl two duties of a transport are **not** kept, so that apps have `CurlTransport` there: a body that comes faster than it
/// is read is held in memory (it fails above 64 MiB, but only once what has come is looked at: an endless body has filled
/// 23 GB before that), and gzip is undone as fast as it comes.
public final class URLSessionTransport: HTTPTransport {
    private let session: URLSession
    private let transfers = URLSessionTransfers()

    /// - Parameter configuration: its cookies and caches are switched off.
    public init(configuration: URLSessionConfiguration = .ephemeral) {
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalAndRemoteCacheData
        session = URLSession(configuration: configuration, delegate: transfers, delegateQueue: nil)
    }

    deinit {
        session.finishTasksAndInvalidate()
    }

    public func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        guard let url = URL(string: request.url.description) else {
            throw HTTPError(request.url, .invalidURL("URLSession does not accept it"))
        }
        var outgoing = URLRequest(url: url)
        outgoing.timeoutInterval = TimeInterval(request.idleTimeout.components.seconds)
        for field in request.headers.fields { outgoing.setValue(field.value, forHTTPHeaderField: field.name) }
        let transfer = URLSessionTransfer(request)
        let task = session.dataTask(with: outgoing)
        transfers.add(transfer, of: task)
        // Releasing the body, or leaving here with an error, stops the transfer.
        let body = BufferedBody(
            transfer.answer, url: request.url, resume: { task.resume() }, stop: { task.cancel() })
        let alarm = Task {
            try await Task.sleep(for: request.headTimeout)
            transfer.headIsLate()
            task.cancel()
        }
        defer { alarm.cancel() }
        task.resume()
        let head = try await body.head()
        return HTTPResponse(status: head.status, headers: head.headers, body: body)
    }
}
