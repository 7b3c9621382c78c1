import NIOCore
import NIOHTTP1
import NIOWebSocket
import RemoteSettingsModel
import SnapshotOrigin

/// One client of the broadcast part of Mozilla's push protocol, after the WebSocket handshake.
///
/// While a client does not take what it is sent, nothing is read from it. It gets the newest version when it takes
/// something again. If it stays behind for ``ServerLimits/stallSeconds``, the guard behind this handler ends the
/// connection.
package final class PushHandler: ChannelInboundHandler, UpdateSubscriber {
    package typealias InboundIn = WebSocketFrame
    package typealias OutboundOut = WebSocketFrame

    /// How many heartbeats there are from one ping to the next.
    private static let beatsPerPing = 3
    /// The most frames that a client may send between two heartbeats.
    private static let mostFrames = 32
    /// The seconds that a client must wait between two pings of its own, as in Mozilla's server.
    private static let pingSeconds: Int64 = 45
    /// The seconds that a client has to take the server's close frame and to close its side.
    private static let closeSeconds: Int64 = 2

    private let hub: UpdateHub
    private var subscription: UpdateSubscription
    private var context: ChannelHandlerContext?
    private var deadline: Scheduled<Void>?
    private var hasSaidHello = false
    private var isSubscribed = false
    /// The version of the monitor's broadcast that the client has.
    private var version = ""
    private var isBehind = false
    private var isBlocked = false
    private var isEnding = false
    private var beats = 0
    /// How many frames have come since the last heartbeat.
    private var frames = 0
    /// How many pings were sent since the client last sent anything.
    private var unanswered = 0
    private var lastPing: NIODeadline?

    package init(_ hub: UpdateHub, _ place: UpdateHub.Place) {
        self.hub = hub
        subscription = UpdateSubscription(hub, place)
    }

    /// The handlers of a connection: WebSocket's frames, and this handler.
    package func handlers() -> [any ChannelHandler] {
        let bytes = hub.limits.pushMessageBytes
        return [
            WebSocketFrameEncoder(), ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: bytes)),
            ClientFrameCheck(),
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 16, maxAccumulatedFrameSize: bytes),
            self,
        ]
    }

    /// Waits for the first message. The head of the answer must already be written.
    package func begin() {
        guard let context else { return }
        subscription.begin(self, on: context.eventLoop)
        let seconds = Int64(hub.limits.pushHelloSeconds)
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(seconds)) { [weak self] in
            self?.close(.unexpectedServerError)
        }
        context.read()
    }

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func handlerRemoved(context: ChannelHandlerContext) {
        giveUpPlace(isShed: false)
        self.context = nil
    }

    package func channelInactive(context: ChannelHandlerContext) {
        giveUpPlace(isShed: isBlocked)
        context.fireChannelInactive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        if isEnding {
            if frame.opcode == .connectionClose { context.close(promise: nil) }
            return
        }
        unanswered = 0
        frames += 1
        guard frames <= Self.mostFrames else { return close(.policyViolation) }
        switch frame.opcode {
        case .text: receive(frame.unmaskedData)
        case .ping: send(.pong, frame.unmaskedData)
        case .pong: break
        case .connectionClose: close(Self.answer(toClose: frame.unmaskedData))
        default: close(.unacceptableData)
        }
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        // Nothing is read from a client that takes nothing.
        if context.channel.isWritable { context.read() }
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isActive { isBlocked = !context.channel.isWritable }
        if !isBlocked {
            if isBehind, let present = hub.present { announce(present) }
            context.read()
        }
        context.fireChannelWritabilityChanged()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // After a breach of the protocol, nothing can be read as frames. The handler only waits for the end.
        guard !isEnding else { return }
        switch error {
        case NIOWebSocketError.invalidFrameLength, NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge:
            close(.messageTooLarge)
        case is NIOWebSocketError, is NIOWebSocketFrameAggregator.Error, is ClientFrameCheck.Violation:
            close(.protocolError)
        default: context.close(promise: nil)
        }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: context.close(promise: nil)
        case is ChannelShouldQuiesceEvent:
            // Clients of this protocol cannot be told when to come back. They come a few seconds after the connection
            // ends.
            context.eventLoop.assumeIsolated().scheduleTask(in: hub.delayUntilEnd()) { [weak self] in
                guard let self, !self.isEnding else { return }
                self.hub.metrics.streamPaused(.push)
                self.close(.goingAway)
            }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    private func receive(_ text: ByteBuffer) {
        let bytes = Array(text.readableBytesView)
        guard String(validating: bytes, as: UTF8.self) != nil else { return close(.dataInconsistentWithMessage) }
        guard let message = try? PushMessage(Bytes(bytes)), let present = hub.present else {
            return close(.unacceptableData)
        }
        guard hasSaidHello else {
            guard case .hello(var known) = message else { return close(.protocolError) }
            hasSaidHello = true
            deadline?.cancel()
            deadline = nil
            // In the first session of a profile, Firefox names no broadcast after a reconnect either, and does not
            // subscribe again. A client without a listener for a broadcast ignores it.
            if known.isEmpty { known = [PushBroadcast(id: Origin.broadcastID, version: "")] }
            subscribe(known, present)
            return send(PushReply.hello(uaid: Self.uaid(), known, version: present.version))
        }
        switch message {
        case .hello: close(.protocolError)
        case .subscribe(let known):
            subscribe(known, present)
            if let reply = PushReply.subscribed(known, version: present.version) { send(reply) }
        case .ping:
            if let lastPing, .now() - lastPing < .seconds(Self.pingSeconds) { return close(.unexpectedServerError) }
            lastPing = .now()
            send(Array("{}".utf8))
        case .register(let channel): send(PushReply.registrationRefused(channel: channel))
        case .unregister(let channel): send(PushReply.unregistered(channel: channel))
        case .ignored: break
        }
    }

    private func subscribe(_ known: [PushBroadcast], _ present: Announcement) {
        guard known.contains(where: { $0.id == Origin.broadcastID }) else { return }
        isSubscribed = true
        version = present.version
    }

    /// A new name for each connection. The server keeps nothing about a client, and a new name tells the client so.
    private static func uaid() -> String {
        let digits = (0..<32).map { _ in String(Int.random(in: 0..<16), radix: 16) }
        return digits.joined()
    }

    package func announce(_ announcement: Announcement) {
        guard let context, isSubscribed, !isEnding, announcement.version != version else { return }
        guard context.channel.isWritable else {
            if isBehind { hub.metrics.updateLeftOut(.push) }
            isBehind = true
            return
        }
        isBehind = false
        version = announcement.version
        send(.text, announcement.broadcast)
        hub.metrics.updateSent(.push)
    }

    package func beat() {
        frames = 0
        beats = (beats + 1) % Self.beatsPerPing
        guard beats == 0, !isEnding, let context, context.channel.isWritable else { return }
        guard unanswered < 2 else { return context.close(promise: nil) }
        unanswered += 1
        send(.ping, ByteBuffer())
    }

    private func send(_ json: [UInt8]) { send(.text, ByteBuffer(bytes: json)) }

    private func send(_ opcode: WebSocketOpcode, _ data: ByteBuffer, promise: EventLoopPromise<Void>? = nil) {
        context?.writeAndFlush(wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, data: data)), promise: promise)
    }

    private func close(_ code: WebSocketErrorCode) {
        guard !isEnding, let context else { return }
        isEnding = true
        leave()
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        let written = context.eventLoop.makePromise(of: Void.self)
        // If a connection is closed while bytes from the client are unread, it is reset, and the client may never see
        // the frame. So only this side is closed, and what still comes is read and dropped.
        written.futureResult.assumeIsolated().whenComplete { [weak self] _ in
            self?.context?.close(mode: .output, promise: nil)
        }
        send(.connectionClose, data, promise: written)
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(Self.closeSeconds)) { [weak self] in
            self?.context?.close(promise: nil)
        }
        context.read()
    }

    /// The code of the answer to a client's close frame: the client's own, or what is wrong with it (RFC 6455 §5.5.1,
    /// §7.4).
    private static func answer(toClose data: ByteBuffer) -> WebSocketErrorCode {
        guard data.readableBytes > 0 else { return .normalClosure }
        guard let code = data.getInteger(at: data.readerIndex, as: UInt16.self) else { return .protocolError }
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: break
        // These codes must not be sent, or are not assigned.
        default: return .protocolError
        }
        let isText = String(validating: data.readableBytesView.dropFirst(2), as: UTF8.self) != nil
        return isText ? WebSocketErrorCode(codeNumber: Int(code)) : .dataInconsistentWithMessage
    }

    private func leave() {
        deadline?.cancel()
        deadline = nil
        subscription.end(self)
    }

    /// The connection is closed.
    private func giveUpPlace(isShed: Bool) {
        leave()
        subscription.close(self, isShed: isShed)
    }
}

/// Refuses frames that a client must not send (RFC 6455 §5.1, §5.2) but the decoder accepts.
private final class ClientFrameCheck: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    struct Violation: Error {}

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        let isKnown = [.continuation, .text, .binary, .connectionClose, .ping, .pong].contains(frame.opcode)
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3, isKnown else {
            return context.fireErrorCaught(Violation())
        }
        context.fireChannelRead(data)
    }
}

extension HTTPRequestHead {
    /// Whether it asks for the push protocol in a way that can be granted (RFC 6455 §4.2.1).
    var isPushHandshake: Bool {
        method == .GET && version == .http1_1 && RequestTarget(uri).isForPush
            && headers[canonicalForm: "upgrade"].contains { $0.lowercased() == "websocket" }
            && headers[canonicalForm: "connection"].contains { $0.lowercased() == "upgrade" }
            && headers["sec-websocket-version"] == ["13"]
            && headers["sec-websocket-key"].map(\.utf8.count) == [24]
    }
}
