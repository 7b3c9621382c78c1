import Foundation
import RemoteSettingsHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The transport of apps over `URLSession`. On Apple systems it uses the system's proxies, VPNs and App Transport
/// Security. On other systems it is Foundation's own, over libcurl.
///
/// `URLSession` decompresses by itself. It notices a body that is shorter than its `Content-Length`, but not every
/// truncated compressed stream. Such a stream's content is not valid JSON and is refused. A file that is itself gzip
/// cannot be had from a server that names gzip as its coding.
///
/// Over libcurl it does **not** give some guarantees of a transport, so apps use `CurlTransport` there:
/// - A body that arrives faster than it is read is buffered. The transfer fails above 64 MiB, but late: an endless body
///   once filled 23 GB before that.
/// - Compressed bodies are decompressed as fast as they arrive.
/// - Bytes on the wire are not counted separately from decompressed ones.
///
/// Throughput and time are limited there as everywhere.
package final class URLSessionTransport: HTTPTransport {
    private let session: URLSession
    private let transfers = URLSessionTransfers()

    /// Makes a transport.
    ///
    /// - Parameter configuration: the session's configuration. Its cookies and caches are switched off.
    package init(configuration: URLSessionConfiguration = .ephemeral) {
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

    package func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        guard let url = URL(string: request.url.description) else {
            throw HTTPError(request.url, .invalidURL("rejected by URLSession"))
        }
        var outgoing = URLRequest(url: url)
        outgoing.timeoutInterval = TimeInterval(request.idleTimeout.components.seconds)
        for field in request.headers.fields { outgoing.setValue(field.value, forHTTPHeaderField: field.name) }
        let transfer = URLSessionTransfer(request)
        let task = session.dataTask(with: outgoing)
        transfers.add(transfer, of: task)
        let alarm = WorkThreads.start { _ = try? await transfer.watch(task) }
        // Releasing the body, or leaving here with an error, stops the transfer.
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
