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
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let responder: Responder
    private let limits: ServerLimits
    private let logger: Logger
    private let received: RequestSizeLimit
    private var context: ChannelHandlerContext?

    /// Requests that came before the one at work was answered (pipelining).
    private var waiting: CircularBuffer<ReceivedRequest> = []
    private var reading: ReceivedRequest?
    private var isAnswering = false
    private var isTakingRequests = false
    private var isReadHeld = false
    private var isInputClosed = false
    private var isQuiescing = false
    private var isEnding = false
    /// The piece that a client must accept, or the request that it must complete, until then.
    private var deadline: ConnectionDeadline?
    private var hasAnswered = false

    init(_ responder: Responder, received: RequestSizeLimit, logger: Logger) {
        self.responder = responder
        self.received = received
        self.logger = logger
        limits = responder.limits
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        responder.metrics.connectionOpened()
        deadline = ConnectionDeadline(context.eventLoop) { [weak self] in self?.timeUp($0) }
        deadline?.set(.slowRequest, in: limits.requestSeconds)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        responder.metrics.connectionClosed()
        deadline?.cancel()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isEnding else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            switch RequestCheck.check(head) {
            case .good(let target): reading = ReceivedRequest(head: head, target: target)
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
            answerWaiting()
        }
    }

    /// Nothing more is read than is answered, so that nobody fills memory with requests.
    func read(context: ChannelHandlerContext) {
        isReadHeld = isAnswering || isEnding
        if !isReadHeld { context.read() }
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
            if !isAnswering && waiting.isEmpty { endWhenWritten() }
        case is ChannelShouldQuiesceEvent:
            isQuiescing = true
            if !isAnswering && waiting.isEmpty { endWhenWritten() }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        isEnding = true
        waiting.removeAll()
        deadline?.cancel()
        context.fireChannelInactive()
    }
}

extension ConnectionHandler {
    /// Answers what waits, one after another, without a deeper stack for each.
    private func answerWaiting() {
        guard !isTakingRequests else { return }
        isTakingRequests = true
        defer { isTakingRequests = false }
        while !isAnswering, !isEnding, let request = waiting.popFirst() { answer(request) }
    }

    private func answer(_ request: ReceivedRequest) {
        guard let context else { return }
        isAnswering = true
        deadline?.lift()
        let step = responder.answer(request.head, request.target) { context.remoteAddress?.isLoopback ?? false }
        switch step {
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
        let date = DateLine.current(responder.now(), keepsAlive: keepsAlive, isOldHTTP: head.version.minor == 0)
        if let body = response.smallBody, context.channel.isWritable {
            return putWhole(response.head, date, body, keepsAlive)
        }
        put(response.head)
        put(date)
        switch response.body {
        case .none:
            // Answers without a body also fill memory where a client asks for many and takes none.
            putAndWait(ByteBuffer(), bytes: 0) { $0.finish(keepsAlive) }
        case .buffers(let buffers): writeKept(buffers[...], keepsAlive)
        case .pieces: writePieces(source, keepsAlive)
        }
        context.flush()
    }

    private func put(_ buffer: ByteBuffer) {
        context?.write(NIOAny(buffer), promise: nil)
    }

    /// Writes a small answer as one buffer. It goes into the socket's own buffer, or up to the channel's water mark into
    /// memory, at once; waiting for it would cost more than it protects.
    private func putWhole(_ head: ByteBuffer, _ date: ByteBuffer, _ body: ByteBuffer, _ keepsAlive: Bool) {
        var whole = ByteBuffer()
        whole.reserveCapacity(head.readableBytes + date.readableBytes + body.readableBytes)
        for part in [head, date, body] { whole.writeImmutableBuffer(part) }
        context?.writeAndFlush(NIOAny(whole), promise: nil)
        finish(keepsAlive)
    }

    /// Writes a window of buffers and goes on with the next when the client has accepted it.
    private func writeKept(_ buffers: ArraySlice<ByteBuffer>, _ keepsAlive: Bool) {
        var rest = buffers
        var count = 0
        while let buffer = rest.first, count == 0 || count + buffer.readableBytes <= 4 * limits.pieceBytes {
            rest.removeFirst()
            count += buffer.readableBytes
            if rest.isEmpty { return putAndWait(buffer, bytes: count) { $0.finish(keepsAlive) } }
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
            putAndWait(piece, bytes: piece.readableBytes) {
                if source.isAtEnd { $0.finish(keepsAlive) } else { $0.writePieces(source, keepsAlive) }
            }
        } catch {
            // The announced length cannot be kept: only an early end tells the client.
            responder.report("\(error)")
            end()
        }
    }

    private func putAndWait(_ buffer: ByteBuffer, bytes: Int, _ next: @escaping (ConnectionHandler) -> Void) {
        guard let context else { return }
        let steps = max(1, (bytes + limits.pieceBytes - 1) / limits.pieceBytes)
        deadline?.set(.slowReader, in: limits.stallSeconds * steps)
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
        guard keepsAlive, !isQuiescing else { return endWhenWritten() }
        guard waiting.isEmpty else { return answerWaiting() }
        if isInputClosed { return endWhenWritten() }
        deadline?.set(.slowRequest, in: limits.idleSeconds)
        if isReadHeld, let context { read(context: context) }
    }
}

extension ConnectionHandler {
    private func timeUp(_ refusal: Refusal) {
        switch refusal {
        // A connection that is kept open between two requests, as HTTP allows.
        case .slowRequest where reading == nil && hasAnswered: end()
        case .slowRequest: refuse(408, .slowRequest, "no complete request in time")
        default:
            count(refusal, "an answer that the client does not take")
            context?.close(promise: nil)
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
            responder.metrics.answered(
                ServerResponse(status: status, route: .refused, head: ByteBuffer(), body: .none, length: 0))
            endWhenWritten()
        }
        end()
    }

    /// Ends the connection when the client has taken what was written. Nothing more is read meanwhile.
    private func endWhenWritten() {
        guard !isEnding, let context else { return }
        isEnding = true
        waiting.removeAll()
        deadline?.set(.slowReader, in: limits.stallSeconds)
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { _ in self.context?.close(promise: nil) }
        context.writeAndFlush(NIOAny(ByteBuffer()), promise: promise)
    }

    private func end() {
        guard !isEnding else { return }
        isEnding = true
        waiting.removeAll()
        deadline?.cancel()
        context?.close(promise: nil)
    }
}
