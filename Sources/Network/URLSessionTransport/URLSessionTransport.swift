import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The HTTP transport of apps, over `URLSession`. On Apple systems it uses the system's proxies, VPNs and App Transport
/// Security. On other systems it uses Foundation's `URLSession`, which is built on libcurl.
///
/// `URLSession` always decompresses bodies. It notices a body that is shorter than its `Content-Length`, but not every
/// truncated compressed stream. The content of such a stream is not valid JSON and is refused. A file that is itself
/// gzip cannot be downloaded from a server that declares gzip as its `Content-Encoding`.
///
/// On systems where `URLSession` uses libcurl, it does **not** meet all guarantees of a transport, so apps use
/// `CurlTransport` there:
/// - A body that arrives faster than it is read is buffered. The transfer fails above 64 MiB, but late: in one test, an
///   endless body used 23 GB before that.
/// - Compressed bodies are decompressed as fast as they arrive.
/// - Bytes on the wire are not counted separately from decompressed ones.
///
/// The limits on throughput and time apply there too.
package final class URLSessionTransport: HTTPTransport {
    private let session: URLSession
    private let transfers = URLSessionTransfers()

    /// Creates a transport.
    ///
    /// - Parameter configuration: the session's configuration. Its cookies and caches are disabled.
    package init(configuration: URLSessionConfiguration = .ephemeral) {
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalAndRemoteCacheData
        session = URLSession(configuration: configuration, delegate: transfers, delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    package func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
        guard let url = URL(string: request.url.description) else {
            throw Failure(request.url, .invalidURL("rejected by URLSession"))
        }
        var outgoing = URLRequest(url: url)
        outgoing.httpMethod = request.method.rawValue
        outgoing.httpBody = request.body.map { Data($0.array) }
        outgoing.timeoutInterval = TimeInterval(request.idleTimeout.components.seconds)
        for field in request.headers.fields { outgoing.setValue(field.value, forHTTPHeaderField: field.name) }
        let transfer = URLSessionTransfer(request)
        let task = session.dataTask(with: outgoing)
        transfers.add(transfer, of: task)
        let alarm = WorkThreads.start { _ = try? await transfer.watch(task) }
        // Releasing the body, or throwing from here, stops the transfer.
        let body = BufferedBody(
            transfer.answer, url: request.url, resume: { task.resume() },
            stop: {
                task.cancel()
                alarm.cancel()
            })
        task.resume()
        let head = try await body.head()
        return HTTPResponse(status: head.status, headers: head.headers, body: body, isDecoded: true)
    }
}
