import LibC
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import NIOWebSocket
import RemoteSettingsHTTP
import RemoteSettingsModel

/// Stands between the decoder of a connection and the responder. It lets through only complete requests that pass
/// ``RequestCheck``, without their bodies, one at a time: the next one when the answer to the one before was written.
///
/// What breaks a rule or a limit, and who is too slow, is refused: counted, reported, answered with a status where that is
/// possible, and the connection ends. Runs on the connection's event loop.
///
/// A request for updates is answered here: a handler of its own takes the connection over, and this guard goes on to see that
/// the client takes what it is sent.
final class RequestGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let limits: ServerLimits
    private let metrics: Metrics
    private let updates: UpdateHub
    private let isForHTTP: EventLoopPromise<Bool>
    private let logsRequests: Bool
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let size: RequestSizeLimit
    private let table: ConnectionTable
    private let turns: RequestTurns
    private var connection: ConnectionTable.Connection?
    private var context: ChannelHandlerContext?
    private var eventLoop: (any EventLoop)?
    private var deadline: ConnectionDeadline?

    /// The request that is being read, and the bytes of its body so far.
    private var reading: HTTPRequestHead?
    private var bodyBytes = 0
    /// Complete requests that came before the one at work was answered (pipelining).
    private var waiting: CircularBuffer<HTTPRequestHead> = []
    private var answering: HTTPRequestHead?
    /// Requests that were taken in the present turn, of ``RequestTurns/requests``.
    private var takenInTurn = 0
    private var isAwaitingTurn = false
    /// The turn that the connection has, if it had to wait for one.
    private var turn: Int?
    /// Another handler speaks with the client: nothing of HTTP is read or written any more.
    private var isTakenOver = false { didSet { endTurn() } }
    /// Somebody was told whether the connection is for HTTP.
    private var isDecided = false
    /// The answer that is being written says that the connection ends with it.
    private var isLastAnswer = false
    private var hasAnswered = false
    /// The status of a refusal that is answered when what came before it has been.
    private var refusal: HTTPResponseStatus?
    private var isRefused = false
    /// Nothing is taken from the client any more; the connection ends when it has taken what was written.
    private var isEnding = false { didSet { endTurn() } }
    private var isInputClosed = false
    private var isQuiescing = false
    private var isReadHeld = false
    /// An answer was written, and the client has yet to take enough of it.
    private var isDraining = false
    /// Bytes that the client had not taken when the present time for it began.
    private var untaken = 0

    /// - Parameter isForHTTP: is told whether the first request is for the responder; with `false`, the responder never sees
    ///   the connection.
    init(
        _ size: RequestSizeLimit, in table: ConnectionTable, turns: RequestTurns, limits: ServerLimits,
        metrics: Metrics,
        updates: UpdateHub, isForHTTP: EventLoopPromise<Bool>, now: @escaping @Sendable () -> Timestamp,
        logsRequests: Bool, logger: Logger
    ) {
        self.size = size
        self.table = table
        self.turns = turns
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
        eventLoop = context.eventLoop
        metrics.connectionOpened()
        deadline = ConnectionDeadline(context.eventLoop) { [weak self] in self?.timeUp($0) }
        deadline?.set(.slowRequest, in: limits.requestSeconds)
        switch table.add(context.channel) {
        case .admitted(let connection): self.connection = connection
        case .refused:
            count(.tooManyConnections, "more than \(limits.connectionsPerAddress) connections of one address")
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
        isEnding = true
        waiting.removeAll()
        deadline?.cancel()
        context.fireChannelInactive()
    }
}

// What the client sends.
extension RequestGuard {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isEnding, !isRefused, !isTakenOver else { return }
        switch unwrapInboundIn(data) {
        case .head(var head):
            switch RequestCheck.check(head) {
            case .good(let target):
                head.uri = target
                reading = head
                bodyBytes = 0
            case .refused(let status, let refusal, let found): refuse(status, refusal, found)
            }
        case .body(let buffer):
            bodyBytes += buffer.readableBytes
            if bodyBytes > limits.requestBodyBytes {
                refuse(.payloadTooLarge, .bodyTooLarge, "a body of more than \(limits.requestBodyBytes) bytes")
            }
        case .end:
            size.requestIsComplete()
            guard let head = reading else { return }
            reading = nil
            waiting.append(head)
            takeNext()
        }
    }

    /// Nothing is read while requests wait, so that no client fills memory with them.
    func read(context: ChannelHandlerContext) {
        isReadHeld = answering != nil || isAwaitingTurn || isDraining || isEnding
        if !isReadHeld { context.read() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isEnding, !isRefused, !isTakenOver else { return }
        switch error {
        case HTTPParserError.headerOverflow:
            refuse(.requestHeaderFieldsTooLarge, .headersTooLarge, "headers larger than the limits")
        case is HTTPParserError: refuse(.badRequest, .malformed, "\(error)")
        case is RequestSizeLimit.Exceeded:
            refuse(.payloadTooLarge, .bodyTooLarge, "a request of more than \(limits.requestBytes) bytes")
        default:
            if case .handshakeFailed? = error as? NIOSSLError { count(.malformed, "a TLS handshake that failed") }
            // Connections break; that is nobody's fault.
            end()
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed:
            isInputClosed = true
            if isIdle { endWhenTaken() }
        case is ChannelShouldQuiesceEvent:
            isQuiescing = true
            waiting.removeAll()
            if isIdle { endWhenTaken() }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    private func decide(isForHTTP: Bool) {
        guard !isDecided else { return }
        isDecided = true
        self.isForHTTP.succeed(isForHTTP)
    }

    private var isIdle: Bool { answering == nil && waiting.isEmpty && !isDraining }

    private func takeNext() {
        guard answering == nil, !isAwaitingTurn else { return }
        guard !isDraining, !isEnding, let context else { return endTurn() }
        if waiting.isEmpty {
            takenInTurn = 0
            endTurn()
        } else if takenInTurn == RequestTurns.requests {
            isAwaitingTurn = true
            turns.of(context.eventLoop).wait(beginTurn)
            return endTurn()
        }
        if let head = waiting.popFirst() {
            takenInTurn += 1
            answering = head
            connection?.isAtWork()
            deadline?.lift()
            if head.method == .GET, RequestTarget(head.uri).isForEventStream { return beginEventStream(head, context) }
            if head.isPushHandshake, updates.present != nil { return shakeHands(head, context) }
            decide(isForHTTP: true)
            var request = head
            // Whether the connection goes on is decided here.
            request.headers.remove(name: "connection")
            context.fireChannelRead(wrapInboundOut(.head(request)))
            context.fireChannelRead(wrapInboundOut(.end(nil)))
            context.fireChannelReadComplete()
        } else if let refusal {
            answerRefusal(refusal)
        } else if isInputClosed || isQuiescing {
            endWhenTaken()
        } else {
            if hasAnswered { deadline?.set(.slowRequest, in: limits.idleSeconds) }
            connection?.isIdle()
            if isReadHeld { read(context: context) }
        }
    }

    private func beginTurn(_ turn: Int) {
        isAwaitingTurn = false
        takenInTurn = 0
        self.turn = turn
        takeNext()
    }

    private func endTurn() {
        guard let turn, let loop = eventLoop else { return }
        self.turn = nil
        turns.of(loop).end(turn)
    }
}

// What the client is sent.
extension RequestGuard {
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard let request = answering, !isEnding else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(var head):
            isLastAnswer = isLast(request)
            if isLastAnswer {
                head.headers.add(name: "Connection", value: "close")
            } else if request.version.minor == 0 {
                head.headers.add(name: "Connection", value: "keep-alive")
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            answering = nil
            hasAnswered = true
            context.write(data, promise: promise)
            if isLastAnswer || isQuiescing { return endWhenTaken() }
            isDraining = !context.channel.isWritable
            takeNext()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        context.fireChannelWritabilityChanged()
        guard !isEnding else { return }
        if context.channel.isWritable {
            connection?.isAtWork()
            deadline?.lift()
            isDraining = false
            takeNext()
        } else {
            expectTaking()
        }
    }

    /// Whether the connection ends with the answer to this request.
    private func isLast(_ request: HTTPRequestHead) -> Bool {
        !request.isKeepAlive || request.endsParsing || isQuiescing
            || (isInputClosed && waiting.isEmpty && refusal == nil)
    }

    /// From now on the client has ``ServerLimits/stallSeconds`` to take the next ``ServerLimits/pieceBytes``.
    private func expectTaking() {
        untaken = context.flatMap { try? $0.channel.syncOptions?.getOption(.bufferedWritableBytes) } ?? 0
        deadline?.set(.slowReader, in: limits.stallSeconds)
        connection?.isStalled()
    }

    /// Ends the connection when the client has taken what was written.
    private func endWhenTaken() {
        guard !isEnding, let context else { return }
        isEnding = true
        waiting.removeAll()
        expectTaking()
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { _ in self.context?.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer()))), promise: promise)
    }

    private func end() {
        guard !isEnding else { return }
        isEnding = true
        waiting.removeAll()
        deadline?.cancel()
        context?.close(promise: nil)
    }
}

// What leaves HTTP.
extension RequestGuard {
    private func beginEventStream(_ request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let place = updates.enter(.eventStream, network: ConnectionTable.network(context.remoteAddress))
        if place == nil { count(.tooManyStreams, "too many connections that wait for updates") }
        let isChunked = request.version.minor > 0
        let stream = EventStreamHandler(updates, place, isChunked: isChunked)
        var headers = NIOHTTP1.HTTPHeaders(EventStreamHandler.headers)
        headers.add(contentsOf: [("Server", "rsdump"), ("Date", HTTPDate.text(now())), ("Connection", "close")])
        if isChunked { headers.add(name: "Transfer-Encoding", value: "chunked") }
        // To a client of HTTP/1.0 the encoder would send chunks as well, were it not for the version.
        let head = HTTPResponseHead(version: request.version, status: .ok, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        takeOver(request, status: 200, [stream], context)
        stream.begin()
    }

    /// Grants the push protocol over WebSocket.
    private func shakeHands(_ request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard let place = updates.enter(.push, network: ConnectionTable.network(context.remoteAddress)) else {
            count(.tooManyStreams, "too many connections that wait for updates")
            return answerRefusal(.serviceUnavailable, retryAfter: updates.secondsUntilRetry())
        }
        let offered = request.headers[canonicalForm: "sec-websocket-protocol"]
        let upgrader = NIOWebSocketServerUpgrader(
            shouldUpgrade: { channel, _ in
                var headers = NIOHTTP1.HTTPHeaders()
                if offered.contains("push-notification") {
                    headers.add(name: "Sec-WebSocket-Protocol", value: "push-notification")
                }
                return channel.eventLoop.makeSucceededFuture(headers)
            }, upgradePipelineHandler: { channel, _ in channel.eventLoop.makeSucceededVoidFuture() })
        upgrader.buildUpgradeResponse(
            channel: context.channel, upgradeRequest: request, initialResponseHeaders: [:]
        ).assumeIsolated().whenComplete { [self] result in
            guard let context = self.context, !isEnding, case .success(var headers) = result else {
                updates.leave(place)
                return end()
            }
            headers.add(contentsOf: [("Server", "rsdump"), ("Date", HTTPDate.text(now()))])
            let head = HTTPResponseHead(version: .http1_1, status: .switchingProtocols, headers: headers)
            context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
            let push = PushHandler(updates, place)
            takeOver(request, status: 101, push.handlers(), context)
            push.begin()
        }
    }

    /// Puts handlers that speak with the client from now on in the place of those for HTTP.
    ///
    /// - Parameter status: of the answer, whose head was written.
    private func takeOver(
        _ request: HTTPRequestHead, status: Int, _ handlers: [any ChannelHandler], _ context: ChannelHandlerContext
    ) {
        metrics.answered(.updates, status: status, bytes: 0)
        if logsRequests { logger.info("\(request.method.rawValue) \(request.uri) \(status) 0") }
        isTakenOver = true
        waiting.removeAll()
        let pipeline = context.pipeline.syncOperations
        guard let encoder = try? pipeline.handler(type: HTTPResponseEncoder.self),
            (try? pipeline.addHandlers(handlers, position: .before(encoder))) != nil
        else { return end() }
        setOptions(context.channel)
        if !isDecided {
            // Both sides of what the responder would read and write are closed, so that it can be forgotten.
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            context.fireUserInboundEventTriggered(ChannelEvent.outputClosed)
            decide(isForHTTP: false)
        }
        // Not now: the decoder is still at work.
        context.eventLoop.assumeIsolated().execute {
            guard context.channel.isActive else { return }
            if let decoder = try? pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self) {
                pipeline.removeHandler(decoder, promise: nil)
            }
            pipeline.removeHandler(encoder, promise: nil)
        }
    }

    /// A connection that waits for updates holds little for a client that takes nothing, here and in the system, and ends
    /// where the network has swallowed what was sent.
    private func setOptions(_ channel: any Channel) {
        let options = channel.syncOptions
        // From now on each read is asked for by the handler. TLS asks for the rest of a record itself, unless it believes that
        // this happens anyway.
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
}

// What is refused.
extension RequestGuard {
    private func timeUp(_ refusal: Refusal) {
        guard refusal == .slowReader else {
            // A connection that is kept open between two requests, as HTTP allows.
            if reading == nil, hasAnswered { return end() }
            return refuse(.requestTimeout, .slowRequest, "no complete request in time")
        }
        let before = untaken
        expectTaking()
        if before - untaken >= limits.pieceBytes { return }
        if !isRefused { count(.slowReader, "an answer that the client does not take") }
        isEnding = true
        context?.close(promise: nil)
    }

    private func count(_ refusal: Refusal, _ found: String) {
        isRefused = true
        metrics.refused(refusal)
        let client = context?.remoteAddress.map { "\($0.ipAddress ?? "?")" } ?? "a client"
        logger.notice("refused \(client): \(refusal.rawValue): \(found)")
    }

    /// Ends the connection with a status. Nothing that follows is read, as nobody knows where a request begins in it.
    private func refuse(_ status: HTTPResponseStatus, _ refusal: Refusal, _ found: String) {
        count(refusal, found)
        reading = nil
        self.refusal = status
        takeNext()
    }

    /// - Parameter seconds: after which the client may come back; `nil` where that changes nothing.
    private func answerRefusal(_ status: HTTPResponseStatus, retryAfter seconds: Int? = nil) {
        var headers: NIOHTTP1.HTTPHeaders = [
            "Server": "rsdump", "Content-Length": "0", "Date": HTTPDate.text(now()), "Connection": "close",
        ]
        if let seconds { headers.add(name: "Retry-After", value: "\(seconds)") }
        metrics.answered(.refused, status: Int(status.code), bytes: 0)
        context?.write(wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
        context?.write(wrapOutboundOut(.end(nil)), promise: nil)
        endWhenTaken()
    }
}
