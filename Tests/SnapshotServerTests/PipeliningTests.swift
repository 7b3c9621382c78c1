import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import RemoteSettingsModel
import Testing

@testable import SnapshotServer

/// The order of responses if clients pipeline many requests, on an event loop whose time the test controls.
@Suite struct PipeliningTests {
    /// Responds to each request when the event loop reaches it, as the server does.
    private final class Answering: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private(set) var answered: [String] = []

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .head(let head) = unwrapInboundIn(data) else { return }
            context.eventLoop.assumeIsolated().execute { [self] in
                answered.append(head.uri)
                let answer = HTTPResponseHead(version: .http1_1, status: .ok)
                context.write(wrapOutboundOut(.head(answer)), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }

    /// Connections on one event loop, each behind its guard.
    private final class Bench {
        let loop = EmbeddedEventLoop()
        private let table = ConnectionTable(ServerLimits())

        func connection() throws -> (channel: EmbeddedChannel, answering: Answering) {
            let limits = ServerLimits()
            let metrics = Metrics()
            let answering = Answering()
            let request = RequestGuard(
                RequestSizeLimit(bytes: limits.requestBytes), in: table, limits: limits, metrics: metrics,
                updates: UpdateHub(limits, metrics: metrics), isForHTTP: loop.makePromise(),
                now: { Timestamp(milliseconds: 0) }, logsRequests: false,
                logger: Logger(label: "") { _ in SwiftLogNoOpLogHandler() })
            let channel = EmbeddedChannel(handlers: [request, answering], loop: loop)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            return (channel, answering)
        }

        func ask(_ channel: EmbeddedChannel, _ count: Int) throws {
            for number in 0..<count {
                let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/\(number)", headers: ["Host": "x"])
                try channel.writeInbound(HTTPServerRequestPart.head(head))
                try channel.writeInbound(HTTPServerRequestPart.end(nil))
            }
        }
    }

    @Test func pipelinedRequestsYieldToOtherConnections() throws {
        let bench = Bench()
        let greedy = try (0..<20).map { _ in try bench.connection() }
        for connection in greedy { try bench.ask(connection.channel, 100) }
        // Run everything that is due.
        bench.loop.run()
        #expect(greedy.allSatisfy { $0.answering.answered.count == 4 })
        let other = try bench.connection()
        try bench.ask(other.channel, 1)
        bench.loop.run()
        #expect(other.answering.answered == ["/0"])
        // Eventually all requests are answered, in order.
        bench.loop.advanceTime(by: .seconds(2))
        for connection in greedy { #expect(connection.answering.answered == (0..<100).map { "/\($0)" }) }
    }

    @Test func unpipelinedRequestsNeverPause() throws {
        let bench = Bench()
        let (channel, answering) = try bench.connection()
        for count in 1...100 {
            try bench.ask(channel, 1)
            bench.loop.run()
            #expect(answering.answered.count == count)
        }
    }

    @Test func closedConnectionEndsItsPause() throws {
        let bench = Bench()
        let (gone, unanswered) = try bench.connection()
        let (stays, answering) = try bench.connection()
        for channel in [gone, stays] { try bench.ask(channel, 40) }
        bench.loop.run()
        try gone.close().wait()
        bench.loop.advanceTime(by: .seconds(2))
        #expect(unanswered.answered.count == 4 && answering.answered.count == 40)
    }
}
