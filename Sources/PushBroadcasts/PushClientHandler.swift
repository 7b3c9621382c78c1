import NIOCore
import NIOWebSocket
import RemoteSettings
import RemoteSettingsHTTP
import UpdateEvents

/// What arrives on an open connection. Releasing it, or its iterator, closes the connection.
package typealias PushMessages = NIOThrowingAsyncSequenceProducer<
    UpdateMessage, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, PushClientHandler.Reader
>

/// A client of the broadcast part of Mozilla's push protocol, after the WebSocket handshake.
///
/// It greets the server, answers its pings, sends pings of its own after a silence, and passes on announcements. It
/// reads only as fast as messages are taken, and stops reading while the server does not take what it is sent.
package final class PushClientHandler: ChannelDuplexHandler {
    package typealias InboundIn = WebSocketFrame
    package typealias OutboundIn = WebSocketFrame
    package typealias OutboundOut = WebSocketFrame

    /// The most frames that a message may consist of.
    private static let mostFrames = 64
    private static let tooLong = "a message of more than \(MozillaPush.mostMessageBytes) bytes or \(mostFrames) frames"
    /// The most pings and pongs of a server within a minute. Usual is one every 45 s to 5 minutes.
    private static let mostSignsOfLife = 60
    /// The most messages that wait to be taken. If there are more, reading stops.
    private static let mostWaiting = 16
    /// A close code of Mozilla's service. It forbids reconnecting before the network has changed.
    private static let staysAwayCode: UInt16 = 4774

    private enum Phase {
        case greeting(EventLoopPromise<PushMessages>)
        case open(PushMessages.Source)
        case ended
    }

    private let url: String
    private let patience: NIOPushBroadcastSource.Patience
    private var phase: Phase
    private var context: ChannelHandlerContext?
    /// The beginning of a message that arrives in several frames.
    private var unfinished: (data: ByteBuffer, frames: Int)?
    /// The data of the last unanswered ping. If several arrive at once, only the last is answered.
    private var ping: ByteBuffer?
    /// The start of the minute in which pings and pongs are counted.
    private var minute = NIODeadline.now()
    private var signsOfLife = 0
    private var isFull = false
    private var isReadHeld = false
    private var heard = NIODeadline.now()
    private var isAwaitingPong = false
    private var watch: Scheduled<Void>?

    /// - Parameter opened: succeeds with the answer to the greeting.
    package init(url: String, patience: NIOPushBroadcastSource.Patience, opened: EventLoopPromise<PushMessages>) {
        self.url = url
        self.patience = patience
        phase = .greeting(opened)
    }

    /// Sends the first message.
    package func greet() { send(.text, ByteBuffer(string: MozillaPush.hello)) }

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func handlerRemoved(context: ChannelHandlerContext) {
        end(failure("closed without a close frame"))
        watch?.cancel()
        self.context = nil
    }

    package func channelInactive(context: ChannelHandlerContext) {
        end(failure("closed without a close frame"))
        context.fireChannelInactive()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error as? NIOWebSocketError {
        case .invalidFrameLength?: close(.messageTooLarge, failure(Self.tooLong))
        case let error?: close(.protocolError, failure("the server broke the rules of WebSocket: \(error)"))
        case nil:
            end(failure("\(error)"))
            context.close(promise: nil)
        }
    }

    private func failure(_ reason: String) -> UpdateSourceError {
        UpdateSourceError(HTTPError(url, .connection(reason)))
    }

    // MARK: What arrives

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        heard = .now()
        isAwaitingPong = false
        if case .ended = phase { return }
        let frame = unwrapInboundIn(data)
        // RFC 6455 §5.1 and §5.2; the decoder lets both through.
        guard frame.maskKey == nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            return close(.protocolError, failure("the server sent a frame that is masked or has a reserved bit"))
        }
        switch (frame.opcode, unfinished) {
        case (.text, nil): receive((frame.data, 1), isWhole: frame.fin)
        case (.continuation, let begun?):
            var (data, frames) = begun
            guard frames < Self.mostFrames, data.readableBytes + frame.length <= MozillaPush.mostMessageBytes else {
                return close(.messageTooLarge, failure(Self.tooLong))
            }
            data.writeImmutableBuffer(frame.data)
            receive((data, frames + 1), isWhole: frame.fin)
        case (.ping, _), (.pong, _): receiveSignOfLife(frame)
        case (.connectionClose, _): receiveClose(frame.data)
        default: close(.unacceptableData, failure("the server sent a frame that no message of text contains"))
        }
    }

    private func receive(_ message: (data: ByteBuffer, frames: Int), isWhole: Bool) {
        guard isWhole else {
            unfinished = message
            return
        }
        unfinished = nil
        guard let text = String(validating: message.data.readableBytesView, as: UTF8.self) else {
            return close(.dataInconsistentWithMessage, failure("the server sent a message that is not UTF-8"))
        }
        do throws(UpdateSourceError) {
            if case .greeting(let opened) = phase {
                let first = try MozillaPush.message(text, isFirst: true)
                begin(opened)
                yield(first)
            } else {
                yield(try MozillaPush.message(text))
            }
        } catch {
            close(.unacceptableData, failure(error.description))
        }
    }

    private func receiveSignOfLife(_ frame: WebSocketFrame) {
        if heard - minute >= .seconds(60) { (minute, signsOfLife) = (heard, 0) }
        signsOfLife += 1
        guard signsOfLife <= Self.mostSignsOfLife else {
            return close(.policyViolation, failure("more than \(Self.mostSignsOfLife) pings and pongs within a minute"))
        }
        if frame.opcode == .ping { ping = frame.data } else { yield(.heartbeat) }
    }

    private func receiveClose(_ data: ByteBuffer) {
        var rest = data
        let code = rest.readInteger(as: UInt16.self)
        let reason = String(buffer: rest)
        switch code {
        case nil, 1000, 1001: close(.normalClosure, nil)
        case Self.staysAwayCode:
            close(
                .normalClosure,
                UpdateSourceError(.unsupported, "\(url): the server wants no connections from this network (code 4774)")
            )
        case let code?:
            let shown = reason.isEmpty ? "" : ": \(reason)"
            close(.normalClosure, failure("the server closed it with code \(code)\(shown)"))
        }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        if let data = ping {
            ping = nil
            send(.pong, data)
            yield(.heartbeat)
        }
        context.fireChannelReadComplete()
    }

    // MARK: Reading no faster than messages are taken

    package func read(context: ChannelHandlerContext) {
        isReadHeld = isFull || !context.channel.isWritable
        if !isReadHeld { context.read() }
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        readOn()
        context.fireChannelWritabilityChanged()
    }

    private func readOn() {
        if isReadHeld, let context { read(context: context) }
    }

    /// Told what the reader of the messages does.
    package struct Reader: NIOAsyncSequenceProducerDelegate {
        fileprivate let handler: NIOLoopBound<PushClientHandler>

        package func produceMore() {
            handler.eventLoop.execute {
                handler.value.isFull = false
                handler.value.readOn()
            }
        }

        package func didTerminate() {
            handler.eventLoop.execute { handler.value.close(.goingAway, nil) }
        }
    }

    private func begin(_ opened: EventLoopPromise<PushMessages>) {
        guard let context else { return }
        let made = PushMessages.makeSequence(
            backPressureStrategy: .init(lowWatermark: 1, highWatermark: Self.mostWaiting), finishOnDeinit: true,
            delegate: Reader(handler: NIOLoopBound(self, eventLoop: context.eventLoop)))
        phase = .open(made.source)
        watchSilence(for: patience.silence)
        opened.succeed(made.sequence)
    }

    private func yield(_ message: UpdateMessage) {
        guard case .open(let source) = phase else { return }
        isFull = source.yield(message) == .stopProducing
    }

    // MARK: Silence

    private func watchSilence(for time: Duration) {
        watch = context?.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(time)) { [weak self] in
            self?.silenceMayHavePassed()
        }
    }

    private func silenceMayHavePassed() {
        guard case .open = phase else { return }
        if isAwaitingPong, !isReadHeld {
            end(failure("no answer to a ping within \(patience.answer)"))
            context?.close(promise: nil)
            return
        }
        let left = TimeAmount(patience.silence) - (.now() - heard)
        // If nothing is read, silence says nothing about the server.
        guard left <= .zero, !isReadHeld else {
            return watchSilence(for: left > .zero ? .nanoseconds(left.nanoseconds) : patience.silence)
        }
        isAwaitingPong = true
        send(.ping, ByteBuffer())
        watchSilence(for: patience.answer)
    }

    // MARK: What is sent

    /// - Parameter promise: fulfilled when it was written.
    private func send(_ opcode: WebSocketOpcode, _ data: ByteBuffer, promise: EventLoopPromise<Void>? = nil) {
        let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)
        context?.writeAndFlush(wrapOutboundOut(frame), promise: promise)
    }

    /// Closes the connection as WebSocket has it.
    ///
    /// - Parameter reason: `nil` if it ends properly.
    private func close(_ code: WebSocketErrorCode, _ reason: UpdateSourceError?) {
        if case .ended = phase { return }
        end(reason)
        guard let context else { return }
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        send(.connectionClose, data, promise: written)
        // A server that takes nothing is not waited for.
        watch = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(patience.answer)) {
            context.close(promise: nil)
        }
    }

    private func end(_ reason: UpdateSourceError?) {
        let ended = phase
        phase = .ended
        watch?.cancel()
        (watch, unfinished, ping) = (nil, nil, nil)
        switch ended {
        case .greeting(let opened):
            opened.fail(reason ?? failure("the server ended it before it answered the greeting"))
        case .open(let source):
            if let reason { source.finish(reason) } else { source.finish() }
        case .ended: break
        }
    }
}
