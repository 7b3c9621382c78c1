import FuzzTargets
import NIOCore
import NIOEmbedded
import NIOWebSocket
import PushBroadcasts
import RemoteSettings
import RemoteSettingsModel
import SnapshotServer

/// Both sides of Mozilla's push protocol, as bytes of WebSocket.
extension FuzzTarget {
    private static let now = Timestamp(milliseconds: 1_740_558_489_816)
    private static let hello =
        #"{"messageType":"hello","use_webpush":true,"broadcasts":{"remote-settings/monitor_changes":"\"0\""}}"#
    private static let subscription =
        #"{"messageType":"broadcast_subscribe","broadcasts":{"remote-settings/monitor_changes":"","a/b":"1"}}"#

    /// One frame; a client's is masked by zeros, which leaves it as it is.
    private static func frame(_ first: UInt8, _ payload: some Sequence<UInt8>, isMasked: Bool) -> [UInt8] {
        let payload = Array(payload)
        let mask: UInt8 = isMasked ? 0x80 : 0
        let long = [UInt8(payload.count >> 8 & 0xFF), UInt8(payload.count & 0xFF)]
        let length = payload.count < 126 ? [mask | UInt8(payload.count)] : [mask | 126] + long
        return [first] + length + (isMasked ? [0, 0, 0, 0] : []) + payload
    }

    /// What a connection's other side sees of it.
    private struct Seen: Equatable {
        /// Messages; names that are made up are left out.
        var messages: [String] = []
        var closeCode: UInt16?
        var isOpen = true
    }

    // MARK: The server's side

    static let pushClient = FuzzTarget(
        "push-client",
        "frames of a client of serve's /push; in pieces they have the same answers, which the library reads",
        longest: 1024,
        words: pushWords + ["\u{1}", "\u{8}", "\u{9}"],
        seeds: { _ in
            let texts = [hello, subscription, "{}", #"{"messageType":"register","channelID":"x"}"#]
            let whole = texts.flatMap { frame(0x81, $0.utf8, isMasked: true) }
            let parts =
                frame(0x01, hello.utf8.prefix(20), isMasked: true) + frame(0x89, [], isMasked: true)
                + frame(0x80, hello.utf8.dropFirst(20), isMasked: true)
            return [
                whole, parts, whole + frame(0x88, [0x03, 0xE8], isMasked: true),
                frame(0x81, hello.utf8, isMasked: true) + frame(0x82, [1], isMasked: true),
            ]
        }
    ) { input in
        let whole = try answers(to: [input])
        try require(try answers(to: pieces(of: input)) == whole, "in pieces, the answers are others")
        for (index, message) in whole.messages.enumerated() {
            let read = try? MozillaPush.message(message, isFirst: index == 0)
            try require(read != nil, "the library cannot read \(message)")
        }
    }

    private static func answers(to pieces: [[UInt8]]) throws -> Seen {
        var limits = ServerLimits()
        limits.updateStreams = 1
        let hub = UpdateHub(limits, metrics: Metrics())
        hub.announce { Announcement(number: $0, timestamp: now, changed: nil, version: "\"\(now)\"") }
        guard let place = hub.enter(.push, network: 1) else { throw Finding("no place for one connection") }
        let handler = PushHandler(hub, place)
        let channel = EmbeddedChannel(handlers: handler.handlers(), loop: EmbeddedEventLoop())
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        handler.begin()
        let seen = try feed(pieces, to: channel)
        try require(hub.enter(.push, network: 1) != nil, "its place was not given back")
        return seen
    }

    // MARK: The client's side

    static let pushServer = FuzzTarget(
        "push-server", "frames of a push server; in pieces they hold the same messages and end in the same way",
        longest: 1024,
        words: pushWords + ["\u{1}", "\u{8}", "\u{9}"],
        seeds: { _ in
            func text(_ timestamp: Timestamp, _ type: String) -> String {
                #"{"messageType":\#(type),"status":200,"broadcasts":{"remote-settings/monitor_changes":"\"\#(timestamp)\""}}"#
            }
            let opening = frame(0x81, text(now, "\"hello\"").utf8, isMasked: false)
            let change = text(now.advanced(by: .seconds(1)), "\"broadcast\"").utf8
            return [
                opening + frame(0x81, change, isMasked: false) + frame(0x89, [1, 2], isMasked: false),
                opening + frame(0x01, change.prefix(20), isMasked: false) + frame(0x8A, [], isMasked: false)
                    + frame(0x80, change.dropFirst(20), isMasked: false),
                opening + frame(0x88, [0x03, 0xF0] + "busy".utf8, isMasked: false),
                opening + frame(0x88, [0x12, 0xA6], isMasked: false), frame(0x81, change, isMasked: false),
            ]
        }
    ) { input in
        let whole = try heard(from: [input])
        try require(try heard(from: pieces(of: input)) == whole, "in pieces, it is heard as something else")
    }

    private static func heard(from pieces: [[UInt8]]) throws -> Seen {
        let loop = EmbeddedEventLoop()
        let opened = loop.makePromise(of: PushMessages.self)
        let handler = PushClientHandler(
            url: "wss://example.org/", patience: NIOPushBroadcastSource.Patience(), opened: opened)
        let decoder = WebSocketFrameDecoder(maxFrameSize: MozillaPush.mostMessageBytes)
        let channel = EmbeddedChannel(
            handlers: [WebSocketFrameEncoder(), ByteToMessageHandler(decoder), handler], loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        handler.greet()
        var seen = try feed(pieces, to: channel)
        try require(seen.messages == [MozillaPush.hello], "the client has sent \(seen.messages)")
        do {
            // The messages are not read: that they are whole, the target `push` sees.
            _ = try opened.futureResult.wait()
            seen.messages.append("opened")
        } catch {
            try require(error is UpdateSourceError, "an error that does not say why: \(error)")
        }
        return seen
    }

    // MARK: Both

    /// An input in about forty pieces, or byte by byte if it is shorter.
    private static func pieces(of input: [UInt8]) -> [[UInt8]] {
        let length = max(1, input.count / 40)
        return stride(from: 0, to: input.count, by: length).map { Array(input[$0..<min($0 + length, input.count)]) }
    }

    /// Hands bytes to a connection, ends it, and reads what it has written.
    private static func feed(_ pieces: [[UInt8]], to channel: EmbeddedChannel) throws -> Seen {
        var seen = Seen()
        for piece in pieces where channel.isActive { try channel.writeInbound(ByteBuffer(bytes: piece)) }
        seen.isOpen = channel.isActive
        var written = ByteBuffer()
        while var part = try channel.readOutbound(as: ByteBuffer.self) { written.writeBuffer(&part) }
        _ = try channel.finish(acceptAlreadyClosed: true)
        while let first = written.readInteger(as: UInt8.self), let second = written.readInteger(as: UInt8.self) {
            var length = Int(second & 0x7F)
            if length == 126 { length = written.readInteger(as: UInt16.self).map(Int.init) ?? -1 }
            let mask = second & 0x80 == 0 ? [0, 0, 0, 0] : written.readBytes(length: 4)
            guard let mask, length >= 0, let masked = written.readBytes(length: length) else {
                throw Finding("half a frame was written")
            }
            let payload = masked.enumerated().map { $0.element ^ mask[$0.offset % 4] }
            try require(seen.closeCode == nil, "a frame behind the close frame")
            switch first {
            case 0x81:
                let text = String(decoding: payload, as: UTF8.self)
                seen.messages.append(text.replacing(/"uaid":"[0-9a-f]{32}"/, with: "\"uaid\":\"\""))
            case 0x88:
                try require(payload.count == 2, "a close frame of \(payload.count) bytes")
                let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
                try require([1000, 1001, 1002, 1003, 1007, 1008, 1009, 1011].contains(code), "closed with \(code)")
                seen.closeCode = code
            default: try require(first == 0x89 || first == 0x8A, "a frame that begins with \(first)")
            }
        }
        return seen
    }
}
