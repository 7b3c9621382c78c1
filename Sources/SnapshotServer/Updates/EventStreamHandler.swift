import NIOCore
import NIOHTTP1
import RemoteSettingsModel
import UpdateEvents

/// One client's event stream (WHATWG HTML §9.2), from the head of the answer on. Nothing is read from the client any more.
///
/// A client that does not take what it is sent is left out, and told of the newest state when it takes something again; the
/// guard behind this handler ends a connection that stays behind for ``ServerLimits/stallSeconds``. So a stream holds no more
/// than ``bufferBytes`` for its client.
package final class EventStreamHandler: ChannelInboundHandler, UpdateSubscriber {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// What waits for a client that takes nothing, in bytes, before the client is left out; the system holds about as much.
    static let bufferBytes = 1024

    private static let heartbeat = Announcement.Event(": heartbeat\n\n")
    private static let lastChunk = ByteBuffer(string: "0\r\n\r\n")

    private let hub: UpdateHub
    private let isChunked: Bool
    private var subscription: UpdateSubscription
    private var context: ChannelHandlerContext?
    /// The number of the announcement that was sent last; 0 for none.
    private var sent = 0
    /// Something was left out because the client takes nothing.
    private var isBehind = false
    private var isBlocked = false
    private var isEnding = false

    /// - Parameters:
    ///   - place: `nil` where there are too many streams: the client is asked to come back later.
    ///   - isChunked: whether the answer's head says `Transfer-Encoding: chunked`.
    package init(_ hub: UpdateHub, _ place: UpdateHub.Place?, isChunked: Bool) {
        self.hub = hub
        subscription = UpdateSubscription(hub, place)
        self.isChunked = isChunked
    }

    /// The headers of a stream, without what the protocol's version asks for.
    static let headers: [(name: String, value: String)] = [
        ("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache, no-transform"), ("X-Accel-Buffering", "no"),
        ("Access-Control-Allow-Origin", "*"), ("X-Content-Type-Options", "nosniff"),
    ]

    /// Sends what a newcomer is told. The head of the answer must have been written.
    package func begin() {
        // If the server fails, a browser comes back after so many milliseconds: another number for each client, so that
        // thousands do not come in one second. An empty line would make an event without data of it for some readers.
        send(.init("retry: \(Int.random(in: 3000...8000))\n"))
        guard let context, subscription.hasPlace else { return pause(seconds: hub.secondsUntilRetry()) }
        subscription.begin(self, on: context.eventLoop)
        if let present = hub.present { announce(present) }
    }

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func handlerRemoved(context: ChannelHandlerContext) {
        subscription.close(self)
        self.context = nil
    }

    package func channelInactive(context: ChannelHandlerContext) {
        subscription.close(self, isShed: isBlocked)
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

    package func announce(_ announcement: Announcement) {
        guard let context, !isEnding, announcement.number > sent else { return }
        guard context.channel.isWritable else {
            if isBehind { hub.metrics.updateLeftOut(.eventStream) }
            isBehind = true
            return
        }
        isBehind = false
        let isNext = sent > 0 && announcement.number == sent + 1
        sent = announcement.number
        send(isNext ? announcement.change : announcement.present)
        hub.metrics.updateSent(.eventStream)
    }

    package func beat() {
        // A client that takes nothing has enough to take.
        if context?.channel.isWritable == true, !isEnding { send(Self.heartbeat) }
    }

    private func send(_ event: Announcement.Event) {
        context?.writeAndFlush(wrapOutboundOut(isChunked ? event.chunk : event.plain), promise: nil)
    }

    /// Asks the client to come back later, and ends the stream. A browser obeys `retry`, other clients the event.
    private func pause(seconds: Int) {
        guard !isEnding else { return }
        hub.metrics.streamPaused(.eventStream)
        send(.init("retry: \(seconds)000\n" + UpdateEvent.pause(.retryAfter(seconds: seconds)).text()))
        end()
    }

    private func end() {
        guard !isEnding, let context else { return }
        isEnding = true
        subscription.end(self)
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(isChunked ? Self.lastChunk : ByteBuffer()), promise: written)
    }
}
