import NIOCore
import NIOHTTP1
import RemoteSettingsHTTP
import RemoteSettingsModel

/// One client's event stream (WHATWG HTML §9.2), after the response head. Nothing more is read from the client.
///
/// A client that does not read its events misses announcements, and is notified of the newest state when it reads
/// again. If it does not catch up within ``ServerLimits/stallSeconds``, ``RequestGuard`` closes the connection. A
/// stream therefore buffers at most ``bufferBytes`` for its client.
package final class EventStreamHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// The maximum number of bytes queued for a client before it misses announcements. The kernel buffers about as many
    /// more.
    static let bufferBytes = 1024

    private static let heartbeat = Announcement.Event(": heartbeat\n\n")
    private static let lastChunk = ByteBuffer(string: "0\r\n\r\n")

    private let hub: UpdateHub
    private let isChunked: Bool
    private var place: UpdateHub.Place?
    /// The streams of the event loop; `nil` if this stream is not registered there.
    private var streams: LoopStreams?
    private var slot = 0
    private var context: ChannelHandlerContext?
    /// The number of the last announcement sent; 0 for none.
    private var sent = 0
    /// Whether an announcement was skipped because the client is not reading.
    private var isBehind = false
    private var isBlocked = false
    private var isEnding = false

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - place: the reservation for the stream; `nil` if there are too many streams. The client is then asked to
    ///     retry later.
    ///   - isChunked: whether the response head contains `Transfer-Encoding: chunked`.
    package init(_ hub: UpdateHub, _ place: UpdateHub.Place?, isChunked: Bool) {
        self.hub = hub
        self.place = place
        self.isChunked = isChunked
    }

    /// The headers of a stream, apart from those that depend on the HTTP version.
    static let headers: [(name: String, value: String)] = [
        ("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache, no-transform"), ("X-Accel-Buffering", "no"),
        ("Access-Control-Allow-Origin", "*"), ("X-Content-Type-Options", "nosniff"),
    ]

    /// Sends the newest state to a new client. The response head must already be written.
    package func begin() {
        // If the server fails, a browser reconnects after this many milliseconds. The delay differs between clients, so
        // that thousands do not reconnect within one second. There is no empty line, because some parsers would
        // interpret the text as an event without data.
        send(.init("retry: \(Int.random(in: 3000...8000))\n"))
        guard let context, place != nil else { return pause(seconds: hub.secondsUntilRetry()) }
        let streams = hub.streams(on: context.eventLoop)
        slot = streams.add(self)
        self.streams = streams
        if let present = hub.present { announce(present) }
    }

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func handlerRemoved(context: ChannelHandlerContext) {
        leave()
        self.context = nil
    }

    package func channelInactive(context: ChannelHandlerContext) {
        if place != nil, isBlocked { hub.metrics.streamShed() }
        leave()
        context.fireChannelInactive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    package func channelReadComplete(context: ChannelHandlerContext) {}

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isActive { isBlocked = !context.channel.isWritable }
        if !isBlocked, isBehind, let present = hub.present { announce(present) }
        context.fireChannelWritabilityChanged()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: end()
        case is ChannelShouldQuiesceEvent: pause(seconds: hub.secondsUntilReturn())
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    /// Sends an announcement, or records that the client is behind.
    func announce(_ announcement: Announcement) {
        guard let context, !isEnding, announcement.number > sent else { return }
        guard context.channel.isWritable else {
            if isBehind { hub.metrics.updateLeftOut() }
            isBehind = true
            return
        }
        isBehind = false
        let isNext = sent > 0 && announcement.number == sent + 1
        sent = announcement.number
        send(isNext ? announcement.change : announcement.present)
        hub.metrics.updateSent()
    }

    /// Sends a heartbeat. Called every ``ServerLimits/updateHeartbeatSeconds``.
    func beat() {
        // Do not send more bytes to a client that is not reading.
        if context?.channel.isWritable == true, !isEnding { send(Self.heartbeat) }
    }

    private func send(_ event: Announcement.Event) {
        context?.writeAndFlush(wrapOutboundOut(isChunked ? event.chunk : event.plain), promise: nil)
    }

    /// Asks the client to retry later, and closes the stream. A browser honors the field `retry`; other clients honor
    /// the event.
    private func pause(seconds: Int) {
        guard !isEnding else { return }
        hub.metrics.streamPaused()
        send(.init("retry: \(seconds)000\n" + UpdateEvent.pause(.retryAfter(seconds: seconds)).text()))
        end()
    }

    private func end() {
        guard !isEnding, let context else { return }
        isEnding = true
        endTelling()
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(isChunked ? Self.lastChunk : ByteBuffer()), promise: written)
    }

    /// Stops the announcements. The connection keeps its reservation until it is closed.
    private func endTelling() {
        streams?.remove(self, from: slot)
        streams = nil
    }

    /// Releases the reservation. Called when the connection is closed.
    private func leave() {
        endTelling()
        if let place { hub.leave(place) }
        place = nil
    }
}
