import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel
import Locks
import UpdateEvents

/// Mozilla's push service as an update channel, over NIO's WebSocket.
///
/// It announces each change of Mozilla's collections within minutes. It can also use another server that speaks the
/// same protocol, such as `rsdump serve` at `/push`.
///
///     config.updates.channel = .source(NIOPushBroadcastSource())
///
/// It does not follow redirects or use proxies. It runs on NIO's shared threads.
public struct NIOPushBroadcastSource: UpdateSource {
    /// How long a server may take. Only tests choose other times.
    package struct Patience: Sendable {
        /// The time for the TCP connection.
        package var connection = Duration.seconds(30)
        /// The time from the TCP connection to the answer to the first message.
        package var greeting = Duration.seconds(MozillaPush.helloSeconds)
        /// The silence after which the client sends a ping.
        package var silence = Duration.seconds(MozillaPush.pingSeconds)
        /// The time for the answer to a ping.
        package var answer = Duration.seconds(10)

        package init() {}
    }

    /// The most seconds for which a `Retry-After` is obeyed.
    private static let longestPause = 86_400

    private let url: String
    private let tlsConfiguration: TLSConfiguration
    private let patience: Patience

    /// Makes a source. Does no I/O.
    ///
    /// - Parameters:
    ///   - url: `wss` or, on this machine only, `ws`; `nil` for Mozilla's service.
    ///   - tlsConfiguration: the TLS settings, such as how the server's certificate is verified. By default, it is
    ///     verified against the system's roots.
    public init(url: String? = nil, tlsConfiguration: TLSConfiguration = .makeClientConfiguration()) {
        self.init(url: url, tlsConfiguration: tlsConfiguration, patience: Patience())
    }

    package init(
        url: String?, tlsConfiguration: TLSConfiguration = .makeClientConfiguration(), patience: Patience
    ) {
        self.url = url ?? MozillaPush.mozilla
        self.tlsConfiguration = tlsConfiguration
        self.patience = patience
    }

    /// Opens a connection, greets the server and waits for its answer. Uses the network.
    ///
    /// - Throws: `UpdateSourceError` if no connection can be made within 30 seconds, or if the server refuses the
    ///   greeting or does not answer it within another 30 seconds.
    public func connect() async throws(UpdateSourceError) -> any UpdateConnection {
        let address = try address()
        let tls = try tlsContext(for: address)
        let attempt = ConnectionAttempt()
        let (outcomes, outcome) = AsyncStream<Result<PushMessages, UpdateSourceError>>.makeStream()
        outcome.onTermination = { _ in attempt.giveUp(failure(.cancelled)) }
        Task {
            do throws(UpdateSourceError) {
                outcome.yield(.success(try await open(address, tls, attempt)))
            } catch {
                outcome.yield(.failure(error))
            }
            outcome.finish()
        }
        for await result in outcomes { return Connection(try result.get(), url: url) }
        throw failure(.cancelled)
    }

    private func failure(_ reason: HTTPError.Reason) -> UpdateSourceError { UpdateSourceError(HTTPError(url, reason)) }

    private func address() throws(UpdateSourceError) -> HTTPURL {
        let lowercased = url.prefix(4).lowercased()
        guard let scheme = lowercased == "wss:" ? "https:" : lowercased.hasPrefix("ws:") ? "http:" : nil,
            let colon = url.firstIndex(of: ":")
        else { throw failure(.invalidURL("expected the URL of a WebSocket, wss://…")) }
        let address: HTTPURL
        do throws(HTTPError) {
            address = try HTTPURL(scheme + url[url.index(after: colon)...])
        } catch {
            throw failure(error.reason)
        }
        guard address.scheme == .https || address.isLoopback else {
            throw failure(.invalidURL("plain ws is refused; use wss"))
        }
        return address
    }

    private func tlsContext(for address: HTTPURL) throws(UpdateSourceError) -> NIOSSLContext? {
        guard address.scheme == .https else { return nil }
        var configuration = tlsConfiguration
        // WebSocket over HTTP/2 is another protocol.
        configuration.applicationProtocols = ["http/1.1"]
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw failure(.tls("\(error)"))
        }
    }

    private func open(
        _ address: HTTPURL, _ tls: NIOSSLContext?, _ attempt: ConnectionAttempt
    ) async throws(UpdateSourceError) -> PushMessages {
        let host = address.host.hasPrefix("[") ? String(address.host.dropFirst().dropLast()) : address.host
        let port = address.port ?? (tls == nil ? 80 : 443)
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(TimeAmount(patience.connection))
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            // With these limits, a server that floods the client is stopped after a few messages.
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 4096))
        do {
            let answer = try await bootstrap.connect(host: host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try attempt.begin(channel)
                    if let tls {
                        // An IP address cannot be sent as the server's name, but the certificate must still contain it.
                        let isName = (try? SocketAddress(ipAddress: host, port: port)) == nil
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLClientHandler(context: tls, serverHostname: isName ? host : nil))
                    }
                    return try addHandshake(to: channel, address)
                }
            }
            attempt.isConnected(
                greetingWithin: TimeAmount(patience.greeting),
                else: failure(.timeout(.head, seconds: Int(clamping: patience.greeting.components.seconds))))
            switch try await answer.get() {
            case .granted(_, let opened):
                let messages = try await opened.get()
                attempt.hasSucceeded()
                return messages
            case .refused(let head): throw refusal(try await head.get())
            }
        } catch {
            throw attempt.giveUp(error as? UpdateSourceError ?? reason(of: error))
        }
    }

    // MARK: The handshake

    /// What the answer to the handshake (RFC 6455 §4) leads to.
    private enum HandshakeAnswer: Sendable {
        case granted(NIOLoopBound<PushClientHandler>, EventLoopFuture<PushMessages>)
        case refused(EventLoopFuture<HTTPResponseHead>)
    }

    private func addHandshake(
        to channel: any Channel, _ address: HTTPURL
    ) throws -> EventLoopFuture<HandshakeAnswer> {
        let fields: [(String, String)] = [
            ("Host", address.host + (address.port.map { ":\($0)" } ?? "")),
            ("User-Agent", RemoteSettingsConfig().userAgent.description),
            ("Sec-WebSocket-Protocol", MozillaPush.subprotocol),
        ]
        let request = HTTPRequestHead(
            version: .http1_1, method: .GET, uri: address.path + (address.query.map { "?\($0)" } ?? ""),
            headers: NIOHTTP1.HTTPHeaders(fields))
        let upgrader = NIOTypedWebSocketClientUpgrader<HandshakeAnswer>(
            maxFrameSize: MozillaPush.mostMessageBytes, enableAutomaticErrorHandling: false
        ) { channel, head in
            channel.eventLoop.makeCompletedFuture {
                try check(head)
                let messages = channel.eventLoop.makePromise(of: PushMessages.self)
                let handler = PushClientHandler(url: url, patience: patience, opened: messages)
                try add(handler, to: channel, fulfilling: messages)
                return .granted(NIOLoopBound(handler, eventLoop: channel.eventLoop), messages.futureResult)
            }
        }
        let configuration = NIOUpgradableHTTPClientPipelineConfiguration(
            upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration(
                upgradeRequestHead: request, upgraders: [upgrader],
                notUpgradingCompletionHandler: { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let head = channel.eventLoop.makePromise(of: HTTPResponseHead.self)
                        try add(RefusalHandler(head), to: channel, fulfilling: head)
                        return .refused(head.futureResult)
                    }
                }))
        let pipeline = channel.pipeline.syncOperations
        return try pipeline.configureUpgradableHTTPClientPipeline(configuration: configuration).map { answer in
            // Nothing can be written during the handshake, so the greeting is sent here.
            if case .granted(let handler, _) = answer { handler.value.greet() }
            return answer
        }
    }

    /// Adds the handler that fulfils a promise to a channel that may already be closed.
    private func add<Value>(
        _ handler: some ChannelHandler, to channel: any Channel, fulfilling promise: EventLoopPromise<Value>
    ) throws {
        do {
            try channel.pipeline.syncOperations.addHandler(handler)
        } catch {
            promise.fail(error)
            throw error
        }
    }

    /// Checks what NIO's upgrader does not check in the answer that grants the handshake (RFC 6455 §4.1).
    private func check(_ head: HTTPResponseHead) throws(UpdateSourceError) {
        guard head.headers[canonicalForm: "connection"].contains(where: { $0.lowercased() == "upgrade" }) else {
            throw failure(.notHTTP("the answer to the WebSocket handshake lacks Connection: Upgrade"))
        }
        guard head.headers["sec-websocket-extensions"].isEmpty else {
            throw failure(.notHTTP("the server uses an extension of WebSocket, though none was offered"))
        }
        guard head.headers[canonicalForm: "sec-websocket-protocol"].allSatisfy({ $0 == MozillaPush.subprotocol }) else {
            throw failure(.notHTTP("the server speaks another subprotocol than \(MozillaPush.subprotocol)"))
        }
    }

    private func refusal(_ head: HTTPResponseHead) -> UpdateSourceError {
        var headers = RemoteSettingsHTTP.HTTPHeaders()
        for (name, value) in head.headers { headers.add(name, value) }
        let now = HTTPEnvironment.system.now()
        let pause = head.status.code >= 400 ? headers.retryAfter(now: now, atMost: Self.longestPause) : .zero
        guard pause == .zero else {
            return failure(.backoff(until: now.advanced(by: pause), seconds: Int(clamping: pause.components.seconds)))
        }
        return failure(.status(Int(head.status.code), body: "expected 101 in answer to the WebSocket handshake"))
    }

    private func reason(of error: any Error) -> UpdateSourceError {
        switch error {
        case let error as NIOConnectionError:
            let addresses = error.connectionErrors.map { "\($0.target): \($0.error)" }
            return failure(
                .unreachable(addresses.isEmpty ? "host \(error.host) not found" : addresses.joined(separator: "; ")))
        case ChannelError.connectTimeout:
            return failure(.timeout(.connect, seconds: Int(clamping: patience.connection.components.seconds)))
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: return failure(.tls("\(error)"))
        case let error as NIOHTTPClientUpgradeError where error == .upgraderDeniedUpgrade:
            return failure(.notHTTP("the answer to the WebSocket handshake has the wrong Sec-WebSocket-Accept"))
        case let error as NIOHTTPClientUpgradeError where error == .responseProtocolNotFound:
            return failure(.notHTTP("the answer to the WebSocket handshake names no WebSocket in Upgrade"))
        case HTTPParserError.invalidEOFState, is ChannelError:
            return failure(.connection("closed before the WebSocket handshake was answered"))
        case is HTTPParserError: return failure(.notHTTP("\(error)"))
        default: return failure(.connection("\(error)"))
        }
    }

    /// An open connection.
    private struct Connection: UpdateConnection {
        private let url: String
        private let messages: PushMessages.AsyncIterator

        init(_ messages: PushMessages, url: String) {
            self.url = url
            self.messages = messages.makeAsyncIterator()
        }

        func next() async throws(UpdateSourceError) -> UpdateMessage? {
            do {
                return try await messages.next()
            } catch {
                throw error as? UpdateSourceError ?? UpdateSourceError(HTTPError(url, .cancelled))
            }
        }
    }
}

/// A connection that is being made, which may be given up at any time.
private final class ConnectionAttempt: Sendable {
    private struct State {
        var channel: (any Channel)?
        var reason: UpdateSourceError?
    }

    private let state = Mutex(State())

    func begin(_ channel: any Channel) throws(UpdateSourceError) {
        let reason = state.withLock { state in
            state.channel = channel
            return state.reason
        }
        if let reason { throw reason }
    }

    func isConnected(greetingWithin time: TimeAmount, else reason: UpdateSourceError) {
        guard let channel = state.withLock({ $0.channel }) else { return }
        let deadline = channel.eventLoop.scheduleTask(in: time) { _ = self.giveUp(reason) }
        channel.closeFuture.whenComplete { _ in deadline.cancel() }
    }

    /// Hands the connection over to its reader.
    func hasSucceeded() { state.withLock { $0.channel = nil } }

    /// Closes the connection. Does nothing to one that is in use.
    ///
    /// - Returns: the first reason why it was given up.
    @discardableResult
    func giveUp(_ reason: UpdateSourceError) -> UpdateSourceError {
        let (channel, first) = state.withLock { state in
            state.reason = state.reason ?? reason
            defer { state.channel = nil }
            return (state.channel, state.reason ?? reason)
        }
        channel?.close(promise: nil)
        return first
    }
}

/// Receives the head of an answer that grants no WebSocket.
private final class RefusalHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let head: EventLoopPromise<HTTPResponseHead>

    init(_ head: EventLoopPromise<HTTPResponseHead>) { self.head = head }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) { self.head.succeed(head) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { head.fail(ChannelError.eof) }
}
