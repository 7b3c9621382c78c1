import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import RemoteSettingsModel
import SnapshotBundle

/// One connection: takes requests from the decoder, one at a time, and writes answers straight to the socket.
///
/// Answers go past any encoder, as heads and small bodies exist as buffers already. All of it runs on the connection's
/// event loop; what takes longer runs elsewhere and comes back.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    private let responder: Responder
    private let limits: ServerLimits
    private let logger: Logger
    private let received: RequestSizeLimit
    private var context: ChannelHandlerContext?

    /// Requests that came before the one at work was answered (pipelining).
    private var waiting: CircularBuffer<Request> = []
    private var reading: Request?
    private var isAnswering = false
    private var isTakingTurns = false
    private var isInputClosed = false
    private var isQuiescing = false
    private var isEnding = false
    /// The piece that a client must accept, or the request that it must complete, until then.
    private var deadline: NIODeadline = .distantFuture
    private var timer: Scheduled<Void>?
    private var armedFor: NIODeadline = .distantFuture
    private var timedOut: Refusal = .slowRequest
    private var hasAnswered = false

    private struct Request {
        var head: HTTPRequestHead
        var target: Responder.Target
        var bodyBytes = 0
    }

    init(_ responder: Responder, received: RequestSizeLimit, logger: Logger) {
        self.responder = responder
        self.received = received
        self.logger = logger
        limits = responder.limits
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        responder.metrics.connectionOpened()
        expectRequest(within: limits.requestSeconds)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        responder.metrics.connectionClosed()
        timer?.cancel()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isEnding else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            switch RequestCheck.check(head) {
            case .good(let target): reading = Request(head: head, target: target)
            case .refused(let status, let refusal, let found): refuse(status, refusal, found)
            }
        case .body(let buffer):
            reading?.bodyBytes += buffer.readableBytes
            if let count = reading?.bodyBytes, count > limits.requestBodyBytes {
                refuse(413, .bodyTooLarge, "a body of more than \(limits.requestBodyBytes) bytes")
            }
        case .end:
            received.requestIsComplete()
            guard let request = reading else { return }
            reading = nil
            waiting.append(request)
            answerNext()
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isEnding else { return }
        if let error = error as? HTTPParserError {
            if case .headerOverflow = error {
                refuse(431, .headersTooLarge, "headers larger than the limits")
            } else {
                refuse(400, .malformed, "\(error)")
            }
        } else if error is RequestSizeLimit.Exceeded {
            refuse(413, .bodyTooLarge, "a request of more than \(limits.requestBytes) bytes")
        } else {
            if case .handshakeFailed? = error as? NIOSSLError { count(.malformed, "a TLS handshake that failed") }
            // A connection that broke is nobody's fault.
            end()
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed:
            isInputClosed = true
            if !isAnswering && waiting.isEmpty { end() }
        case is ChannelShouldQuiesceEvent:
            isQuiescing = true
            if !isAnswering && waiting.isEmpty { end() }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        isEnding = true
        waiting.removeAll()
        timer?.cancel()
        context.fireChannelInactive()
    }
}

extension ConnectionHandler {
    /// Answers what waits, one after another, without a deeper stack for each.
    private func answerNext() {
        guard !isTakingTurns else { return }
        isTakingTurns = true
        defer { isTakingTurns = false }
        while !isAnswering, !isEnding, let context, let request = waiting.popFirst() { answer(request, context) }
    }

    private func answer(_ request: Request, _ context: ChannelHandlerContext) {
        isAnswering = true
        deadline = .distantFuture
        setReading(false)
        let isLoopback = context.remoteAddress?.isLoopback ?? false
        switch responder.answer(request.head, request.target, isLoopback: isLoopback) {
        case .done(let response): write(response, to: request.head)
        case .later(let work):
            let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
            context.eventLoop.makeFutureWithTask { await work() }.whenComplete { result in
                switch result {
                case .success(let response): handler.value.write(response, to: request.head)
                case .failure: handler.value.end()
                }
            }
        }
    }

    /// Nothing more is read than is answered, so that nobody fills memory with requests.
    private func setReading(_ isOn: Bool) {
        guard let context else { return }
        try? context.channel.syncOptions?.setOption(ChannelOptions.autoRead, value: isOn)
        if isOn { context.read() }
    }

    private func write(_ response: ServerResponse, to head: HTTPRequestHead) {
        guard !isEnding, let context else { return }
        var response = response
        var source: PieceSource?
        if case .pieces(let content, let range) = response.body {
            do throws(BundleError) {
                source = try PieceSource(content, range: range, pieceBytes: limits.pieceBytes)
            } catch {
                responder.report("\(error)")
                response = responder.problem(.failed, .unknown, false)
                if case .pieces(let content, let range) = response.body {
                    source = try? PieceSource(content, range: range, pieceBytes: limits.pieceBytes)
                }
            }
        }
        responder.metrics.answered(response)
        if responder.logsRequests {
            responder.report("\(head.method.rawValue) \(head.uri) \(response.status) \(response.length)")
        }
        let keepsAlive = head.isKeepAlive && !head.endsParsing && !isInputClosed && !isQuiescing
        put(response.head)
        put(DateLine.current(responder.now(), keepsAlive: keepsAlive, isOldHTTP: head.version.minor == 0))
        switch response.body {
        case .none:
            // Answers without a body also fill memory where a client asks for many and takes none.
            if context.channel.isWritable { finish(keepsAlive) } else { putLast(ByteBuffer(), keepsAlive) }
        case .buffers(let buffers): writeKept(buffers[...], keepsAlive)
        case .pieces: writePieces(source, keepsAlive)
        }
        context.flush()
    }

    private func put(_ buffer: ByteBuffer, promise: EventLoopPromise<Void>? = nil) {
        context?.write(NIOAny(buffer), promise: promise)
    }

    /// Writes a window of buffers and goes on with the next when the client has accepted it.
    private func writeKept(_ buffers: ArraySlice<ByteBuffer>, _ keepsAlive: Bool) {
        var rest = buffers
        var count = 0
        while let buffer = rest.first, count == 0 || count + buffer.readableBytes <= 4 * limits.pieceBytes {
            rest.removeFirst()
            count += buffer.readableBytes
            if rest.isEmpty { return putLast(buffer, keepsAlive) }
            if let next = rest.first, count + next.readableBytes > 4 * limits.pieceBytes {
                putAndWait(buffer, bytes: count) { $0.writeKept(rest, keepsAlive) }
                return
            }
            put(buffer)
        }
        if buffers.isEmpty { finish(keepsAlive) }
    }

    private func writePieces(_ source: PieceSource?, _ keepsAlive: Bool) {
        do {
            guard let source, let piece = try source.next() else { return finish(keepsAlive) }
            if source.isAtEnd { return putLast(piece, keepsAlive) }
            putAndWait(piece, bytes: piece.readableBytes) { $0.writePieces(source, keepsAlive) }
        } catch {
            // The announced length cannot be kept: only an early end tells the client.
            responder.report("\(error)")
            end()
        }
    }

    private func putLast(_ buffer: ByteBuffer, _ keepsAlive: Bool) {
        // Small answers go into the socket's own buffer at once; waiting for them would cost more than it protects.
        putAndWait(buffer, bytes: buffer.readableBytes) { $0.finish(keepsAlive) }
    }

    private func putAndWait(_ buffer: ByteBuffer, bytes: Int, _ next: @escaping (ConnectionHandler) -> Void) {
        guard let context else { return }
        let steps = max(1, (bytes + limits.pieceBytes - 1) / limits.pieceBytes)
        arm(.slowReader, in: .seconds(Int64(limits.stallSeconds * steps)))
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { result in
            guard !self.isEnding else { return }
            if case .success = result { next(self) } else { self.end() }
        }
        context.writeAndFlush(NIOAny(buffer), promise: promise)
    }

    private func finish(_ keepsAlive: Bool) {
        isAnswering = false
        hasAnswered = true
        guard keepsAlive, !isQuiescing else { return end() }
        if waiting.isEmpty {
            if isInputClosed { return end() }
            expectRequest(within: limits.idleSeconds)
            setReading(true)
        } else {
            answerNext()
        }
    }
}

extension ConnectionHandler {
    private func expectRequest(within seconds: Int) {
        arm(.slowRequest, in: .seconds(Int64(seconds)))
    }

    /// Moves the deadline. One timer serves a connection: where the deadline has moved, it starts again.
    private func arm(_ refusal: Refusal, in time: TimeAmount) {
        timedOut = refusal
        deadline = .now() + time
        guard let context else { return }
        if timer == nil || armedFor > deadline { schedule(context, at: deadline) }
    }

    private func schedule(_ context: ChannelHandlerContext, at time: NIODeadline) {
        timer?.cancel()
        armedFor = time
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: time) { self.timeUp() }
    }

    private func timeUp() {
        timer = nil
        guard !isEnding, let context else { return }
        if deadline == .distantFuture { return }
        if deadline > .now() { return schedule(context, at: deadline) }
        switch timedOut {
        // A connection that is kept open between two requests, as HTTP allows.
        case .slowRequest where reading == nil && hasAnswered: end()
        case .slowRequest: refuse(408, .slowRequest, "no complete request in time")
        default:
            count(timedOut, "an answer that the client does not take")
            end()
        }
    }

    private func count(_ refusal: Refusal, _ found: String) {
        responder.metrics.refused(refusal)
        let client = context?.remoteAddress.map { "\($0.ipAddress ?? "?")" } ?? "a client"
        logger.notice("refused \(client): \(refusal.rawValue): \(found)")
    }

    /// Ends the connection with an error answer. Nothing after it is read: what follows can not be told apart.
    private func refuse(_ status: Int, _ refusal: Refusal, _ found: String) {
        count(refusal, found)
        if !isAnswering {
            var head = ResponseHead(status)
            head.add("Content-Length", "0")
            put(head.buffer)
            put(DateLine.current(responder.now(), keepsAlive: false, isOldHTTP: false))
            context?.flush()
            responder.metrics.answered(
                ServerResponse(status: status, route: .refused, head: ByteBuffer(), body: .none, length: 0))
        }
        end()
    }

    private func end() {
        guard !isEnding else { return }
        isEnding = true
        waiting.removeAll()
        timer?.cancel()
        context?.close(promise: nil)
    }
}
