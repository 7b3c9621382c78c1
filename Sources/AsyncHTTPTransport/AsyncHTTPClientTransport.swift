import AsyncHTTPClient
import NIOCore
import RemoteSettingsHTTP
import RemoteSettingsModel

/// The transport of the command-line tool: AsyncHTTPClient, HTTP/1.1 with connections kept alive.
///
/// It runs on NIO's shared threads. Connections wait for their next request for a minute.
public final class AsyncHTTPClientTransport: HTTPTransport {
    private let client: HTTPClient

    /// - Parameters:
    ///   - jobs: connections to one host. No more than so many requests to it should be under way at once: further
    ///     ones wait for a connection, and their time-out runs meanwhile.
    ///   - limits: its `headTimeoutSeconds` bounds connecting too. Its `idleTimeoutSeconds` applies to the time before
    ///     the answer's head as well, so that the shorter of the two counts there.
    public init(jobs: Int = 8, limits: Limits = Limits()) {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(
                connect: .seconds(Int64(limits.headTimeoutSeconds)), read: .seconds(Int64(limits.idleTimeoutSeconds))),
            connectionPool: .init(
                idleTimeout: .seconds(60), concurrentHTTP1ConnectionsPerHostSoftLimit: max(1, jobs)),
            decompression: .disabled)
        configuration.httpVersion = .http1Only
        // Repetition is the caller's, who also knows what to tell the user meanwhile.
        configuration.connectionPool.retryConnectionEstablishment = false
        // Nobody reads the spans, and each costs the request's URL taken apart.
        configuration.tracing.tracer = nil
        client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
    }

    deinit {
        // Has no effect after `shutdown()`; without it the client would trap for not having been shut down.
        client.shutdown { _ in }
    }

    /// Closes the connections, those in use included. Optional at the end of a process.
    public func shutdown() async {
        try? await client.shutdown()
    }

    public func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        var outgoing = HTTPClientRequest(url: request.url.description)
        for field in request.headers.fields { outgoing.headers.add(name: field.name, value: field.value) }
        let failure = FailureTranslation(request)
        let answer: HTTPClientResponse
        do {
            answer = try await client.execute(outgoing, deadline: .now() + TimeAmount(request.headTimeout))
        } catch {
            throw failure.beforeHead(error)
        }
        var headers = HTTPHeaders()
        for (name, value) in answer.headers { headers.add(name, value) }
        let wire = WireBody(answer.body, announced: headers["Content-Length"].flatMap { Int($0) }, failure: failure)
        return try HTTPResponse(status: Int(answer.status.code), headers: headers, body: wire).decoded(for: request)
    }
}
