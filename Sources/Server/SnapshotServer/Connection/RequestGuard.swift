import Dumps
import Logging
import NIOCore
import NIOHTTP1
import RemoteSettingsHTTP
import RemoteSettingsModel

/// Protects the server from bad requests and slow clients. It sits between a connection's decoder and the responder,
/// and runs on the connection's event loop.
///
/// It passes on only complete requests that ``RequestCheck`` accepts, without their bodies, one at a time. The next
/// request follows when the response to the previous one has been written.
///
/// It refuses a request that breaks a rule or exceeds a limit, and a client that is too slow. A refusal is counted,
/// reported and, if possible, answered with an error status. Then the connection is closed.
///
/// The guard itself responds to a request for an event stream. Another handler then takes over the connection, and the
/// guard still checks that the client reads the bytes that it is sent.
final class RequestGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let limits: ServerLimits
    private let metrics: Metrics
    private let updates: UpdateHub
    /// The promise of ``GuardedChannel/Value/isForHTTP``; `nil` once it is completed.
    private var isForHTTP: EventLoopPromise<Bool>?
    private let logsRequests: Bool
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let size: RequestSizeLimit
    private let table: ConnectionTable
    private var connection: ConnectionTable.Connection?
    private var context: ChannelHandlerContext?
    private var deadline: ConnectionDeadline?

    private var phase = Phase.first
    private var input = Input.open
    /// The request that is being received, and the number of body bytes so far.
    private var reading: (head: HTTPRequestHead, bodyBytes: Int)?
    /// Complete requests that arrived before the response to the current one was written (pipelining).
    private var waiting: CircularBuffer<HTTPRequestHead> = []
    /// The number of requests answered without a pause, at most ``answersInARow``.
    private var answeredInARow = 0
    /// Whether a refusal was counted. At most one is counted for each connection.
    private var isRefused = false
    /// Whether a read is postponed until the guard can process the next request.
    private var isReadHeld = false
    /// The number of bytes that were still unsent when the client's current time limit began.
    private var untaken = 0

    /// The phase of the connection.
    private enum Phase {
        /// The connection waits for its first request.
        case first
        /// The connection waits for its next request.
        case idle
        /// The responder is working on the response. If `isLast` is true, the connection is closed after it.
        case answering(HTTPRequestHead, isLast: Bool)
        /// Requests wait while other connections get their turn.
        case pausing
        /// A response was written, and the client has not received enough of it yet.
        case draining
        /// Another handler uses the connection. The guard no longer reads or writes HTTP.
        case streaming
        /// Nothing more is read from the client. The connection is closed when the client has received all written
        /// bytes.
        case ending

        /// Whether the next request can begin.
        var isFree: Bool {
            switch self {
            case .first, .idle: true
            case .answering, .pausing, .draining, .streaming, .ending: false
            }
        }

        var isEnding: Bool { if case .ending = self { true } else { false } }
    }

    /// The state of the client's side of the connection. A later case replaces an earlier one.
    private enum Input {
        case open
        /// The client sends nothing more, but still receives responses.
        case closed
        /// An invalid request is refused with this status, after the responses to the requests before it.
        case refused(HTTPResponseStatus)
        /// The server is shutting down, so only the current request gets a response.
        case quiescing

        var isQuiescing: Bool { if case .quiescing = self { true } else { false } }
    }

    /// Creates a guard.
    ///
    /// - Parameter isForHTTP: completed with `true` if the first request is for the responder. Otherwise, it is
    ///   completed with `false`, and the responder never sees the connection.
    init(
        _ size: RequestSizeLimit, in table: ConnectionTable, limits: ServerLimits, metrics: Metrics,
        updates: UpdateHub, isForHTTP: EventLoopPromise<Bool>, now: @escaping @Sendable () -> Timestamp,
        logsRequests: Bool, logger: Logger
    ) {
        self.size = size
        self.table = table
        self.limits = limits
        self.metrics = metrics
        self.updates = updates
        self.isForHTTP = isForHTTP
        self.logsRequests = logsRequests
        self.now = now
        self.logger = logger
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        metrics.connectionOpened()
        deadline = ConnectionDeadline(context.eventLoop) { [weak self] in self?.timeUp($0) }
        deadline?.set(.slowRequest, in: limits.requestSeconds)
        switch table.add(context.channel) {
        case .admitted(let connection): self.connection = connection
        case .refused:
            count(.tooManyConnections, "more than \(limits.connectionsPerAddress) connections from one address")
            end()
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        metrics.connectionClosed()
        decide(isForHTTP: true)
        if let connection { table.remove(connection) }
        connection = nil
        deadline?.cancel()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        phase = .ending
        waiting.removeAll()
        deadline?.cancel()
        context.fireChannelInactive()
    }
}

// MARK: Receiving
extension RequestGuard {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard isReading else { return }
        switch unwrapInboundIn(data) {
        case .head(var head):
            switch RequestCheck.check(head) {
            case .good(let target):
                head.uri = target
                reading = (head, bodyBytes: 0)
            case .refused(let status, let refusal, let found): refuse(status, refusal, found)
            }
        case .body(let buffer):
            reading?.bodyBytes += buffer.readableBytes
            if let reading, reading.bodyBytes > limits.requestBodyBytes {
                refuse(.payloadTooLarge, .bodyTooLarge, "a body of more than \(limits.requestBodyBytes) bytes")
            }
        case .end:
            size.requestIsComplete()
            guard let head = reading?.head else { return }
            reading = nil
            waiting.append(head)
            answerNext()
        }
    }

    private var isReading: Bool {
        switch phase {
        case .streaming, .ending: false
        default: !isRefused
        }
    }

    /// Postpones reading while requests wait, so that no client can fill the memory with them.
    func read(context: ChannelHandlerContext) {
        isReadHeld = !phase.isFree
        if !isReadHeld { context.read() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard isReading else { return }
        switch error {
        case HTTPParserError.headerOverflow:
            refuse(.requestHeaderFieldsTooLarge, .headersTooLarge, "headers over the size limit")
        case is HTTPParserError: refuse(.badRequest, .malformed, "\(error)")
        case let error as Failure where error.code == .overLimit:
            refuse(.payloadTooLarge, .bodyTooLarge, "a request of more than \(limits.requestBytes) bytes")
        default:
            // A connection may break for many reasons, so this is not counted as a refusal.
            end()
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed:
            if case .open = input { input = .closed }
            if isIdle { endWhenTaken() }
        case is ChannelShouldQuiesceEvent:
            input = .quiescing
            waiting.removeAll()
            if isIdle { endWhenTaken() }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    private func decide(isForHTTP isIt: Bool) {
        isForHTTP?.succeed(isIt)
        isForHTTP = nil
    }

    private var isIdle: Bool {
        switch phase {
        case .first, .idle, .pausing: waiting.isEmpty
        case .answering, .draining, .streaming, .ending: false
        }
    }

    private func answerNext() {
        guard phase.isFree, let context else { return }
        if waiting.isEmpty {
            answeredInARow = 0
        } else if answeredInARow == Self.answersInARow {
            return pause(context)
        }
        if let head = waiting.popFirst() {
            answeredInARow += 1
            phase = .answering(head, isLast: false)
            connection?.isAtWork()
            deadline?.lift()
            if head.method == .GET, RequestTarget(head.uri).isForEventStream { return beginEventStream(head, context) }
            decide(isForHTTP: true)
            var request = head
            // The guard decides whether the connection stays open.
            request.headers.remove(name: "connection")
            context.fireChannelRead(wrapInboundOut(.head(request)))
            context.fireChannelRead(wrapInboundOut(.end(nil)))
            context.fireChannelReadComplete()
            return
        }
        switch input {
        case .refused(let status): answerRefusal(status)
        case .closed, .quiescing: endWhenTaken()
        case .open:
            if case .idle = phase { deadline?.set(.slowRequest, in: limits.idleSeconds) }
            connection?.isIdle()
            if isReadHeld { read(context: context) }
        }
    }

    /// The number of requests from one client that are processed before other connections get their turn.
    private static let answersInARow = 4

    private func pause(_ context: ChannelHandlerContext) {
        phase = .pausing
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(50)) { [weak self] in
            guard let self, case .pausing = phase else { return }
            phase = .idle
            answeredInARow = 0
            answerNext()
        }
    }

    // MARK: Sending
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .answering(let request, let isLast) = phase else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(var head):
            let isLast = endsConnection(request)
            phase = .answering(request, isLast: isLast)
            if isLast {
                head.headers.add(name: "Connection", value: "close")
            } else if request.version.minor == 0 {
                head.headers.add(name: "Connection", value: "keep-alive")
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            context.write(data, promise: promise)
            if phase.isEnding { return }
            if isLast || input.isQuiescing { return endWhenTaken() }
            phase = context.channel.isWritable ? .idle : .draining
            answerNext()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        context.fireChannelWritabilityChanged()
        guard !phase.isEnding else { return }
        if context.channel.isWritable {
            connection?.isAtWork()
            deadline?.lift()
            if case .draining = phase { phase = .idle }
            answerNext()
        } else {
            expectTaking()
        }
    }

    /// Returns whether the connection is closed after the response to this request.
    private func endsConnection(_ request: HTTPRequestHead) -> Bool {
        guard request.isKeepAlive, !request.endsParsing else { return true }
        switch input {
        case .open, .refused: return false
        case .closed: return waiting.isEmpty
        case .quiescing: return true
        }
    }

    /// Starts a time limit: from now on, the client has ``ServerLimits/stallSeconds`` to receive each further
    /// ``ServerLimits/pieceBytes``.
    private func expectTaking() {
        untaken = context.flatMap { try? $0.channel.syncOptions?.getOption(.bufferedWritableBytes) } ?? 0
        deadline?.set(.slowReader, in: limits.stallSeconds)
        connection?.isStalled()
    }

    /// Closes the connection as soon as the client has received all written bytes.
    private func endWhenTaken() {
        guard !phase.isEnding, let context else { return }
        phase = .ending
        waiting.removeAll()
        expectTaking()
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { _ in self.context?.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))), promise: promise)
    }

    private func end() {
        guard !phase.isEnding else { return }
        phase = .ending
        waiting.removeAll()
        deadline?.cancel()
        context?.close(promise: nil)
    }

    // MARK: Event streams
    private func beginEventStream(_ request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let place = updates.enter(network: ConnectionTable.network(context.remoteAddress))
        if place == nil { count(.tooManyStreams, "too many event stream connections") }
        let isChunked = request.version.minor > 0
        let stream = EventStreamHandler(updates, place, isChunked: isChunked)
        var headers = NIOHTTP1.HTTPHeaders(EventStreamHandler.headers)
        headers.add(contentsOf: [("Server", "rsdump"), ("Date", HTTPDate.text(now())), ("Connection", "close")])
        if isChunked { headers.add(name: "Transfer-Encoding", value: "chunked") }
        // The version must match the client's: with 1.1, the encoder would send chunks to an HTTP/1.0 client.
        let head = HTTPResponseHead(version: request.version, status: .ok, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        handOver(request, stream, context)
        stream.begin()
    }

    /// Replaces the HTTP handlers with an event stream. The head of the response has already been written.
    private func handOver(_ request: HTTPRequestHead, _ stream: EventStreamHandler, _ context: ChannelHandlerContext) {
        metrics.answered(.updates, status: 200, bytes: 0)
        if logsRequests { logger.info("\(request.method.rawValue) \(request.uri) 200 0") }
        phase = .streaming
        waiting.removeAll()
        if let connection { table.waitsForUpdates(connection) }
        let pipeline = context.pipeline.syncOperations
        guard let encoder = try? pipeline.handler(type: HTTPResponseEncoder.self),
            (try? pipeline.addHandler(stream, position: .before(encoder))) != nil
        else { return end() }
        setOptions(context.channel)
        if isForHTTP != nil {
            // Report both directions as closed, so that the responder releases the connection.
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            context.fireUserInboundEventTriggered(ChannelEvent.outputClosed)
            decide(isForHTTP: false)
        }
        // Defer this, because the decoder is still running.
        context.eventLoop.assumeIsolated().execute {
            guard context.channel.isActive else { return }
            if let decoder = try? pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self) {
                pipeline.removeHandler(decoder, promise: nil)
            }
            pipeline.removeHandler(encoder, promise: nil)
        }
    }

    /// Sets socket options for a connection that waits for updates.
    ///
    /// With them, this process and the kernel buffer little for a client that does not read, and the kernel closes the
    /// connection if the network no longer delivers the sent bytes.
    private func setOptions(_ channel: any Channel) {
        let options = channel.syncOptions
        // Nothing more is read from the client.
        try? options?.setOption(.autoRead, value: false)
        let high = EventStreamHandler.bufferBytes
        try? options?.setOption(.writeBufferWaterMark, value: .init(low: high / 4, high: high))
        try? options?.setOption(.socketOption(.so_sndbuf), value: .init(high))
        #if os(Linux)
        let timeout = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_USER_TIMEOUT))
        let seconds = limits.stallSeconds + limits.updateHeartbeatSeconds
        try? options?.setOption(timeout, value: .init(clamping: seconds * 1000))
        #endif
    }

    // MARK: Refusals
    private func timeUp(_ refusal: Refusal) {
        guard refusal == .slowReader else {
            // This is not a refusal: HTTP allows a client to keep a connection open between two requests.
            if reading == nil, case .idle = phase { return end() }
            return refuse(.requestTimeout, .slowRequest, "no complete request in time")
        }
        let before = untaken
        expectTaking()
        if before - untaken >= limits.pieceBytes { return }
        if !isRefused { count(.slowReader, "the client does not read the response") }
        phase = .ending
        context?.close(promise: nil)
    }

    private func count(_ refusal: Refusal, _ found: String) {
        isRefused = true
        metrics.refused(refusal)
        let client = context?.remoteAddress.map { "\($0.ipAddress ?? "?")" } ?? "unknown client"
        logger.notice("closed the connection of \(client): \(refusal.rawValue): \(found)")
    }

    /// Refuses the request and closes the connection after a response with this status. The following bytes are not
    /// read, because it is unknown where the next request begins.
    private func refuse(_ status: HTTPResponseStatus, _ refusal: Refusal, _ found: String) {
        count(refusal, found)
        reading = nil
        if !input.isQuiescing { input = .refused(status) }
        answerNext()
    }

    private func answerRefusal(_ status: HTTPResponseStatus) {
        let headers: NIOHTTP1.HTTPHeaders = [
            "Server": "rsdump", "Content-Length": "0", "Date": HTTPDate.text(now()), "Connection": "close",
        ]
        metrics.answered(.refused, status: Int(status.code), bytes: 0)
        context?.write(wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
        context?.write(wrapOutboundOut(.end(nil)), promise: nil)
        endWhenTaken()
    }
}
