import Crypto
import FaultyServer
import Foundation
import Locks

/// A WebSocket server on loopback whose side of each connection a test writes, byte for byte where it likes.
struct PushServer {
    let port: Int
    var url: String { "ws://127.0.0.1:\(port)/push" }

    /// - Parameter body: run for each connection, on a thread of its own; the connection is closed when it returns.
    init(_ body: @escaping @Sendable (PushPeer) throws -> Void) throws {
        let listener = try LoopbackListener()
        port = listener.port
        listener.serve { try body(PushPeer($0)) }
    }
}

/// The server's side of one connection.
struct PushPeer {
    /// The beginning of a frame's head: the last frame of a message, or the only one, has the highest bit.
    enum Frame {
        static let continuation: UInt8 = 0x00
        static let whole: UInt8 = 0x80
        static let text: UInt8 = 0x01
        static let binary: UInt8 = 0x02
        static let close: UInt8 = 0x08
        static let ping: UInt8 = 0x09
        static let pong: UInt8 = 0x0A
    }

    struct UnmaskedFrame: Error {}
    struct Gone: Error {}

    let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    static func accept(_ key: String) -> String {
        let digest = Insecure.SHA1.hash(data: Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
        return Data(digest).base64EncodedString()
    }

    /// The headers that grant a request.
    static func grant(_ request: ReceivedRequest) -> [(String, String)] {
        [
            ("Upgrade", "websocket"), ("Connection", "Upgrade"),
            ("Sec-WebSocket-Accept", accept(request.headers["sec-websocket-key"] ?? "")),
        ]
    }

    /// Grants the handshake.
    @discardableResult
    func shakeHands() throws -> ReceivedRequest {
        guard let request = try connection.nextRequest() else { throw Gone() }
        try connection.sendHead("101 Switching Protocols", Self.grant(request))
        return request
    }

    /// Grants the handshake and answers the greeting with this version of the monitor's broadcast.
    func open(_ timestamp: UInt64 = 1000) throws {
        try shakeHands()
        _ = try nextFrame()
        try send(Self.hello(timestamp))
    }

    static func hello(_ timestamp: UInt64) -> String {
        #"{"messageType":"hello","status":200,"uaid":"0","use_webpush":true,"broadcasts":"# + version(timestamp) + "}"
    }

    static func broadcast(_ timestamp: UInt64) -> String {
        #"{"messageType":"broadcast","broadcasts":"# + version(timestamp) + "}"
    }

    private static func version(_ timestamp: UInt64) -> String {
        #"{"remote-settings/monitor_changes":"\"\#(timestamp)\""}"#
    }

    func send(_ text: String) throws { try send(Frame.whole | Frame.text, Array(text.utf8)) }

    func send(_ first: UInt8, _ payload: [UInt8], isMasked: Bool = false) throws {
        var frame = Self.head(first, length: payload.count, isMasked: isMasked)
        if isMasked { frame += [0, 0, 0, 0] }
        try connection.send(frame + payload)
    }

    static func head(_ first: UInt8, length: Int, isMasked: Bool = false) -> [UInt8] {
        let mask: UInt8 = isMasked ? 0x80 : 0
        if length < 126 { return [first, mask | UInt8(length)] }
        if length < 65_536 { return [first, mask | 126, UInt8(length >> 8), UInt8(length & 0xFF)] }
        return [first, mask | 127] + (0..<8).map { UInt8(length >> (56 - 8 * $0) & 0xFF) }
    }

    func close(_ code: UInt16?, _ reason: String = "") throws {
        try send(Frame.whole | Frame.close, (code.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } ?? []) + reason.utf8)
    }

    /// The next frame of the client, unmasked.
    func nextFrame() throws -> (first: UInt8, payload: [UInt8]) {
        guard let head = connection.next(2) else { throw Gone() }
        guard head[1] & 0x80 != 0 else { throw UnmaskedFrame() }
        var length = Int(head[1] & 0x7F)
        if length == 126 {
            guard let more = connection.next(2) else { throw Gone() }
            length = Int(more[0]) << 8 | Int(more[1])
        }
        guard let mask = connection.next(4), let masked = connection.next(length) else { throw Gone() }
        return (head[0], masked.enumerated().map { $0.element ^ mask[$0.offset % 4] })
    }

    /// The code of the close frame that the client sends; `nil` if it goes away without one.
    func nextCloseCode() -> Int? {
        while let frame = try? nextFrame() {
            guard frame.first == Frame.whole | Frame.close, frame.payload.count >= 2 else { continue }
            return Int(frame.payload[0]) << 8 | Int(frame.payload[1])
        }
        return nil
    }
}

/// A value that the thread of a server hands to a test.
final class Told<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func tell(_ value: Value) { continuation.yield(value) }

    var next: Value? {
        get async {
            for await value in stream { return value }
            return nil
        }
    }
}
