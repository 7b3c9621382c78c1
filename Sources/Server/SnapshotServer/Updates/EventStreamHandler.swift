#if Server
import NIOCore
import NIOHTTP1
import RemoteSettingsHTTP
import RemoteSettingsModel

/// One client's event stream (WHATWG HTML §9.2), after the head of the answer. Nothing more is read from the client.
///
/// A client that does not take its events is skipped. It is told of the newest state when it takes something again. If
/// it stays behind for ``ServerLimits/stallSeconds``, the guard behind this handler ends the connection. So a stream
/// holds at most ``bufferBytes`` for its client.
package final class EventStreamHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// The most bytes that wait for a client before it is skipped. The system holds about as many more.
    static let bufferBytes = 1024

    private static let heartbeat = Announcement.Event(": heartbeat\n\n")
    private static let lastChunk = ByteBuffer(string: "0\r\n\r\n")

    private let hub: UpdateHub
    private let isChunked: Bool
    private var place: UpdateHub.Place?
    /// The streams of the event loop; `nil` if this one is not among them.
    private var streams: LoopStreams?
    private var slot = 0
    private var context: ChannelHandlerContext?
    /// The number of the announcement that was sent last; 0 for none.
    private var sent = 0
    /// Whether an announcement was skipped because the client takes nothing.
    private var isBehind = false
    private var isBlocked = false
    private var isEnding = false

    /// - Parameters:
    ///   - place: `nil` if there are too many streams. The client is then asked to come back later.
    ///   - isChunked: whether the answer's head says `Transfer-Encoding: chunked`.
    package init(_ hub: UpdateHub, _ place: UpdateHub.Place?, isChunked: Bool) {
        self.hub = hub
        self.place = place
        self.isChunked = isChunked
    }

    /// The headers of a stream, apart from those that depend on the version of HTTP.
    static let headers: [(name: String, value: String)] = [
        ("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache, no-transform"), ("X-Accel-Buffering", "no"),
        ("Access-Control-Allow-Origin", "*"), ("X-Content-Type-Options", "nosniff"),
    ]

    /// Sends the newest state to a newcomer. The head of the answer must already be written.
    package func begin() {
        // If the server fails, a browser comes back after this many milliseconds. The number differs between clients,
        // so that thousands do not come within one second. There is no empty line, because some readers would take the
        // text for an event without data.
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

    /// Sends an announcement, or remembers that the client is behind.
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

    /// Called every ``ServerLimits/updateHeartbeatSeconds``.
    func beat() {
        // A client that takes nothing needs no more bytes.
        if context?.channel.isWritable == true, !isEnding { send(Self.heartbeat) }
    }

    private func send(_ event: Announcement.Event) {
        context?.writeAndFlush(wrapOutboundOut(isChunked ? event.chunk : event.plain), promise: nil)
    }

    /// Asks the client to come back later, and ends the stream. A browser obeys `retry`; other clients obey the event.
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

    /// Stops the announcements. The connection keeps its place until it is closed.
    private func endTelling() {
        streams?.remove(self, from: slot)
        streams = nil
    }

    /// Gives up the place. Called when the connection is closed.
    private func leave() {
        endTelling()
        if let place { hub.leave(place) }
        place = nil
    }
}
#endif
