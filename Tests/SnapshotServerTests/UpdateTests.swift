import NIOCore
import NIOEmbedded
import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

@testable import SnapshotServer

/// The update hub and its connections without a network, on an event loop whose time the test controls.
@Suite struct UpdateTests {
    /// A hub and its connections on one event loop.
    private final class Bench {
        let loop = EmbeddedEventLoop()
        let metrics = Metrics()
        let hub: UpdateHub

        init(_ change: (inout ServerLimits) -> Void = { _ in }) {
            var limits = ServerLimits()
            change(&limits)
            hub = UpdateHub(limits, metrics: metrics)
        }

        func stream(isChunked: Bool = false) throws -> EmbeddedChannel {
            let stream = EventStreamHandler(hub, hub.enter(network: 1), isChunked: isChunked)
            let channel = EmbeddedChannel(handler: stream, loop: loop)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            stream.begin()
            return channel
        }

        func announce(_ timestamp: UInt64, _ names: String...) throws {
            let changed = try names.map { try CollectionID($0) }
            hub.announce { number in
                Announcement(number: number, timestamp: Timestamp(milliseconds: timestamp), changed: changed)
            }
            loop.advanceTime(by: .milliseconds(50))
        }

        /// Returns the output since the last call.
        func written(_ channel: EmbeddedChannel) throws -> String {
            var text = ""
            while let part = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: part) }
            return text
        }

        func events(_ channel: EmbeddedChannel) throws -> [UpdateEvent] {
            try Self.events(in: written(channel))
        }

        static func events(in text: String) throws -> [UpdateEvent] {
            var reader = EventStreamReader()
            reader.feed(Array(text.utf8))
            var events: [UpdateEvent] = []
            while let event = try reader.next() { if let update = try UpdateEvent(event) { events.append(update) } }
            return events
        }

        func setWritable(_ isWritable: Bool, _ channel: EmbeddedChannel) {
            channel.isWritable = isWritable
            channel.pipeline.fireChannelWritabilityChanged()
        }
    }

    private func update(_ timestamp: UInt64, _ names: String...) throws -> UpdateEvent {
        .update(
            timestamp: Timestamp(milliseconds: timestamp),
            collections: names.isEmpty ? nil : try names.map { try CollectionID($0) })
    }

    @Test func updateStreamStartsWithTimestampThenChanges() throws {
        let bench = Bench()
        let early = try bench.stream()
        let opening = try bench.written(early)
        #expect((3000...8000).contains(try #require(retry(opening))))
        try bench.announce(1, "main/a")
        // For a client without a known state, any collection may have changed.
        #expect(try bench.written(early) == "id: 1\nevent: update\ndata: {\"timestamp\":1}\n\n")
        let late = try bench.stream()
        #expect(try bench.events(late) == [update(1)])
        try bench.announce(2, "main/b", "main/c")
        for stream in [early, late] { #expect(try bench.events(stream) == [update(2, "main/b", "main/c")]) }
    }

    @Test func updateEventIsOneChunk() throws {
        let bench = Bench()
        let stream = try bench.stream(isChunked: true)
        let opening = try bench.written(stream)
        #expect(opening.hasPrefix("c\r\nretry: ") && opening.hasSuffix("\n\r\n") && opening.utf8.count == 17)
        stream.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(try bench.written(stream) == "0\r\n\r\n")
        bench.loop.run()
        #expect(!stream.isActive)
    }

    private func retry(_ text: String) -> Int? {
        text.hasPrefix("retry: ") && text.hasSuffix("\n") ? Int(text.dropFirst(7).dropLast()) : nil
    }

    @Test func updateStreamRetryTimesAreSpread() throws {
        let bench = Bench()
        let times = try (0..<400).map { _ in try retry(bench.written(bench.stream())) ?? 0 }
        #expect(times.allSatisfy { (3000...8000).contains($0) })
        // No half second has more than twice its average share of 40.
        #expect(Dictionary(grouping: times) { $0 / 500 }.allSatisfy { $0.value.count < 80 })
    }

    @Test func slowUpdateClientGetsNewestTimestamp() throws {
        let bench = Bench()
        try bench.announce(1)
        let slow = try bench.stream()
        let quick = try bench.stream()
        _ = try (bench.written(slow), bench.written(quick))
        bench.setWritable(false, slow)
        for timestamp in 2...5 as ClosedRange<UInt64> {
            try bench.announce(timestamp, "main/a")
            #expect(try bench.events(quick) == [update(timestamp, "main/a")])
        }
        #expect(try bench.written(slow) == "")
        bench.setWritable(true, slow)
        #expect(try bench.events(slow) == [update(5)])
        bench.setWritable(true, slow)
        #expect(try bench.written(slow) == "")
        // A client that missed only one change is told which one.
        bench.setWritable(false, slow)
        try bench.announce(6, "main/b")
        bench.setWritable(true, slow)
        #expect(try bench.events(slow) == [update(6, "main/b")])
    }

    @Test func updateHeartbeatsSkipSlowClients() throws {
        let bench = Bench { $0.updateHeartbeatSeconds = 15 }
        let stream = try bench.stream()
        _ = try bench.written(stream)
        bench.loop.advanceTime(by: .seconds(14))
        #expect(try bench.written(stream) == "")
        bench.loop.advanceTime(by: .seconds(1))
        #expect(try bench.written(stream) == ": heartbeat\n\n")
        bench.loop.advanceTime(by: .seconds(15))
        #expect(try bench.written(stream) == ": heartbeat\n\n")
        bench.setWritable(false, stream)
        bench.loop.advanceTime(by: .seconds(60))
        #expect(try bench.written(stream) == "")
    }

    @Test func manyUpdateStreamsGetTheNewest() throws {
        let bench = Bench()
        try bench.announce(1)
        let streams = try (0..<1000).map { _ in try bench.stream() }
        for stream in streams { _ = try bench.written(stream) }
        // No client is notified before the loop runs, so the intermediate announcements are never sent.
        for timestamp in 2...9 as ClosedRange<UInt64> {
            bench.hub.announce {
                Announcement(number: $0, timestamp: Timestamp(milliseconds: timestamp), changed: [])
            }
        }
        bench.loop.advanceTime(by: .milliseconds(50))
        for stream in streams {
            let events = try bench.events(stream)
            #expect(events.last == (try update(9)))
            #expect(events.count <= 2)
        }
    }

    @Test func updateStreamsAreLimitedPerAddressAndInAll() throws {
        let bench = Bench { ($0.updateStreams, $0.updateStreamsPerAddress) = (5, 3) }
        let places = (0..<4).map { _ in bench.hub.enter(network: 1) }
        #expect(places.map { $0 != nil } == [true, true, true, false])
        #expect(bench.hub.enter(network: 2) != nil)
        #expect(bench.hub.enter(network: 2) != nil)
        #expect(bench.hub.enter(network: 3) == nil)
        if let place = places[0] { bench.hub.leave(place) }
        #expect(bench.hub.enter(network: 3) != nil)
        // A client beyond the limit is asked to come back later, and its stream ends.
        let refused = try bench.stream()
        guard case .pause(.retryAfter(let seconds))? = try bench.events(refused).first else {
            Issue.record("expected a pause")
            return
        }
        #expect((60...120).contains(seconds))
        bench.loop.run()
        #expect(!refused.isActive)
    }

    @Test func endedUpdateStreamFreesItsPlaceOnce() throws {
        let bench = Bench { $0.updateStreams = 1 }
        let first = try bench.stream()
        first.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        bench.loop.run()
        #expect(!first.isActive)
        let place = try #require(bench.hub.enter(network: 1))
        #expect(bench.hub.enter(network: 1) == nil)
        bench.hub.leave(place)
    }

    @Test func shutdownSpreadsUpdateClientReturns() throws {
        let bench = Bench { $0.updateReturnsPerSecond = 4 }
        let streams = try (0..<400).map { _ in try bench.stream() }
        var times: [Int] = []
        for stream in streams {
            _ = try bench.written(stream)
            stream.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            let text = try bench.written(stream)
            guard case .pause(.retryAfter(let seconds))? = try Bench.events(in: text).first else {
                Issue.record("expected a pause, found \(text)")
                return
            }
            #expect(text.hasPrefix("retry: \(seconds)000\nevent: pause\n"))
            times.append(seconds)
        }
        // The delays are spread for all clients, although fewer remain after each one.
        #expect(times.allSatisfy { (3...102).contains($0) })
        #expect(Set(times).count > 50)
        #expect(times.suffix(100).contains { $0 > 50 })
        bench.loop.run()
        #expect(streams.allSatisfy { !$0.isActive })
    }

    @Test(arguments: [(0, 5), (1000, 5), (1001, 5), (10_000, 50), (12_288, 61), (1_000_000, 600)])
    func updateReturnTimeGrowsWithConnections(connections: Int, seconds: Int) {
        #expect(ServerLimits().updateReturnSeconds(connections: connections) == seconds)
    }

    @Test func manyChangedCollectionsAreNotNamed() throws {
        let ids = try (0..<300).map { try CollectionID("main/c\($0)") }
        let announcement = Announcement(number: 2, timestamp: Timestamp(milliseconds: 7), changed: ids)
        #expect(announcement.change.plain == announcement.present.plain)
    }
}
