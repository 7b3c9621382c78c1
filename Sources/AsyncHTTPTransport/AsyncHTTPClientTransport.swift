import AsyncHTTPClient
import NIOCore
import NIOPosix
import RemoteSettingsHTTP
import RemoteSettingsModel

/// The transport of the command-line tool: AsyncHTTPClient, with connections kept alive.
///
/// An `https` server chooses the protocol (ALPN, RFC 7301): HTTP/2 over one connection, or HTTP/1.1 over several. Plain
/// `http` is HTTP/1.1. It runs on one thread, which all transports share. Idle connections are kept for a minute.
package final class AsyncHTTPClientTransport: HTTPTransport {
    /// NIO's own shared group would start as many threads as there are cores, one after the other, before the first
    /// request.
    private static let eventLoops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let client: HTTPClient

    /// - Parameters:
    ///   - jobs: the most HTTP/1.1 connections to one host. Further requests to it wait for one of these while their
    ///     time-out runs. Requests over HTTP/2 wait if the server allows no more streams.
    ///   - limits: its `headTimeoutSeconds` limits connecting too. Its `idleTimeoutSeconds` also applies before the
    ///     answer's head, so the shorter of the two counts there.
    package init(jobs: Int = 8, limits: Limits = Limits()) {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(
                connect: .seconds(Int64(limits.headTimeoutSeconds)), read: .seconds(Int64(limits.idleTimeoutSeconds))),
            connectionPool: .init(
                idleTimeout: .seconds(60), concurrentHTTP1ConnectionsPerHostSoftLimit: max(1, jobs)),
            decompression: .disabled)
        configuration.httpVersion = .automatic
        // The caller repeats requests, and tells the user about it.
        configuration.connectionPool.retryConnectionEstablishment = false
        // These are the only places in which handlers can be added.
        configuration.http1_1ConnectionDebugInitializer = InterimAnswers.add
        configuration.http2ConnectionDebugInitializer = HTTP2Failures.add
        configuration.http2StreamChannelDebugInitializer = HTTP2Answers.add
        // Nothing reads the spans, and each would cost parsing the request's URL.
        configuration.tracing.tracer = nil
        client = HTTPClient(eventLoopGroup: Self.eventLoops, configuration: configuration)
    }

    deinit {
        // The client traps if it is released without having been shut down. No effect after `shutdown()`.
        client.shutdown { _ in }
    }

    /// Closes the connections, including those in use. It is optional at the end of a process.
    package func shutdown() async {
        try? await client.shutdown()
    }

    package func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        try await execute(HTTPClientRequest(url: request.url.description), request)
    }

    /// Sends bytes by POST, to the URL and with the header fields and time-outs of `request`.
    ///
    /// - Parameter limit: the most bytes of the answer's body that are read. The rest is dropped.
    /// - Returns: the answer, whatever its status is.
    package func post(
        _ body: [UInt8], by request: HTTPRequest, limit: Int
    ) async throws(HTTPError) -> (status: Int, headers: HTTPHeaders, body: [UInt8]) {
        var outgoing = HTTPClientRequest(url: request.url.description)
        outgoing.method = .POST
        outgoing.body = .bytes(body)
        var answer = try await execute(outgoing, request)
        var received: [UInt8] = []
        while received.count < limit, let piece = try await answer.body.next() { received += piece }
        return (answer.status, answer.headers, Array(received.prefix(limit)))
    }

    private func execute(
        _ outgoing: HTTPClientRequest, _ request: HTTPRequest
    ) async throws(HTTPError) -> HTTPResponse {
        var outgoing = outgoing
        for field in request.headers.fields { outgoing.headers.add(name: field.name, value: field.value) }
        let failure = FailureTranslation(request)
        let answer = try await head(
            of: outgoing, deadline: .now() + TimeAmount(request.headTimeout), failure, repetitions: Self.repetitions)
        var headers = HTTPHeaders()
        for (name, value) in answer.headers { headers.add(name, value) }
        let wire = WireBody(answer.body, announced: headers["Content-Length"].flatMap { Int($0) }, failure: failure)
        var response = HTTPResponse(status: Int(answer.status.code), headers: headers, body: wire)
        response.isMultiplexed = answer.version == .http2
        return response
    }
}

extension AsyncHTTPClientTransport {
    /// How often a request is sent again that the server has not processed.
    ///
    /// nginx, for one, ends a connection after 1,000 requests, and leaves out those that are on their way by then.
    private static let repetitions = 8

    private func head(
        of outgoing: HTTPClientRequest, deadline: NIODeadline, _ failure: FailureTranslation, repetitions: Int
    ) async throws(HTTPError) -> HTTPClientResponse {
        do {
            return try await client.execute(outgoing, deadline: deadline)
        } catch {
            guard repetitions > 0, Self.isUnprocessed(error) else { throw failure.beforeHead(error) }
        }
        return try await head(of: outgoing, deadline: deadline, failure, repetitions: repetitions - 1)
    }

    private static func isUnprocessed(_ error: any Error) -> Bool {
        // AsyncHTTPClient says "cancelled" of a request that it was about to send when the server's GOAWAY arrived.
        error is NotProcessed || (error as? HTTPClientError == .cancelled && !Task.isCancelled)
    }
}

/// The body of an answer as it comes off the wire.
private struct WireBody: HTTPBody {
    private var iterator: HTTPClientResponse.Body.AsyncIterator
    private let announced: Int?
    private let failure: FailureTranslation
    private var received = 0

    init(_ body: HTTPClientResponse.Body, announced: Int?, failure: FailureTranslation) {
        iterator = body.makeAsyncIterator()
        self.announced = announced
        self.failure = failure
    }

    mutating func next() async throws(HTTPError) -> [UInt8]? {
        do {
            while let buffer = try await iterator.next() {
                guard buffer.readableBytes > 0 else { continue }
                received += buffer.readableBytes
                return Array(buffer.readableBytesView)
            }
        } catch {
            throw failure.inBody(error, announced: announced, received: received)
        }
        // If the reader is cancelled, the iterator ends as if the body were complete.
        if Task.isCancelled { throw failure.error(.cancelled) }
        return nil
    }
}
