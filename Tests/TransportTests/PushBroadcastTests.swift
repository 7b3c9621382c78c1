import FaultyServer
import Foundation
import NIOSSL
import PushBroadcasts
import RemoteSettings
import RemoteSettingsModel
import Testing
import UpdateEvents

/// Mozilla's push protocol over NIO, against servers that break it.
@Suite(.timeLimit(.minutes(2)))
struct PushBroadcastTests {
    typealias Frame = PushPeer.Frame

    private func update(_ timestamp: UInt64) -> UpdateMessage {
        .event(.update(timestamp: Timestamp(milliseconds: timestamp), collections: nil))
    }

    private func connect(
        to url: String, _ change: (inout NIOPushBroadcastSource.Patience) -> Void = { _ in }
    ) async throws(UpdateSourceError) -> any UpdateConnection {
        var patience = NIOPushBroadcastSource.Patience()
        change(&patience)
        return try await NIOPushBroadcastSource(url: url, patience: patience).connect()
    }

    /// Why no connection comes about.
    private func refusal(
        _ url: String, _ change: (inout NIOPushBroadcastSource.Patience) -> Void = { _ in }
    ) async throws -> UpdateSourceError {
        try #require(
            await #expect(throws: UpdateSourceError.self) { _ = try await connect(to: url, change) })
    }

    // MARK: What works

    @Test func announcementsArrive() async throws {
        let told = Told<String>()
        let server = try PushServer { peer in
            let request = try peer.shakeHands()
            told.tell(request.target)
            told.tell(request.headers["host"] ?? "")
            told.tell(request.headers["sec-websocket-protocol"] ?? "")
            told.tell(String(decoding: try peer.nextFrame().payload, as: UTF8.self))
            try peer.send(PushPeer.hello(1000))
            try peer.send(PushPeer.broadcast(2000))
            try peer.send(#"{"messageType":"broadcast","broadcasts":{}}"#)
            try peer.close(1001)
            told.tell("\(peer.nextCloseCode() ?? 0)")
        }
        var connection = try await connect(to: server.url)
        #expect(await told.next == "/push")
        #expect(await told.next == "127.0.0.1:\(server.port)")
        #expect(await told.next == "push-notification")
        #expect(await told.next == MozillaPush.hello)
        #expect(try await connection.next() == update(1000))
        #expect(try await connection.next() == update(2000))
        #expect(try await connection.next() == .heartbeat)
        #expect(try await connection.next() == nil)
        #expect(await told.next == "1000")
    }

    @Test func aMessageInFragmentsArrivesWhole() async throws {
        let told = Told<[UInt8]>()
        let server = try PushServer { peer in
            try peer.open()
            let text = Array(PushPeer.broadcast(2000).utf8)
            try peer.send(Frame.text, Array(text[..<10]))
            try peer.send(Frame.continuation, [])
            try peer.send(Frame.whole | Frame.ping, Array("now".utf8))
            told.tell(try peer.nextFrame().payload)
            try peer.send(Frame.continuation, Array(text[10..<30]))
            try peer.send(Frame.whole | Frame.continuation, Array(text[30...]))
            peer.connection.hang()
        }
        var connection = try await connect(to: server.url)
        #expect(try await connection.next() == update(1000))
        #expect(try await connection.next() == .heartbeat)
        #expect(await told.next == Array("now".utf8))
        #expect(try await connection.next() == update(2000))
    }

    @Test func releasingItClosesTheConnection() async throws {
        let told = Told<Int?>()
        let server = try PushServer { peer in
            try peer.open()
            told.tell(peer.nextCloseCode())
        }
        var connection: (any UpdateConnection)? = try await connect(to: server.url)
        #expect(try await connection?.next() == update(1000))
        connection = nil
        #expect(await told.next == 1001)
    }

    @Test func aReaderThatIsCancelledEnds() async throws {
        let told = Told<Bool>()
        let server = try PushServer { peer in
            try peer.open()
            told.tell(true)
            peer.connection.hang()
            told.tell(false)
        }
        let url = server.url
        let reader = Task {
            var connection = try await connect(to: url)
            while try await connection.next() != nil {}
        }
        #expect(await told.next == true)
        reader.cancel()
        _ = await reader.result
        #expect(await told.next == false)
    }

    @Test func anAttemptThatIsCancelledEnds() async throws {
        let told = Told<Bool>()
        let server = try PushServer { peer in
            told.tell(true)
            peer.connection.hang()
            told.tell(false)
        }
        let url = server.url
        let attempt = Task { _ = try await connect(to: url) }
        #expect(await told.next == true)
        attempt.cancel()
        let result = await attempt.result
        #expect(throws: UpdateSourceError.self) { try result.get() }
        #expect(await told.next == false)
    }

    // MARK: No connection comes about

    @Test(arguments: [
        "", "x", "http://127.0.0.1/", "ws://example.org/", "wss://", "wss://user:password@example.org/", "wsx://a/",
    ])
    func anUnusableURLIsRefused(url: String) async throws {
        #expect(try await refusal(url).kind == .unsupported)
    }

    @Test func nobodyListens() async throws {
        let error = try await refusal("ws://127.0.0.1:1/push")
        #expect(error.kind == .failed)
        #expect(error.description.hasPrefix("ws://127.0.0.1:1/push: cannot connect: "), "\(error)")
    }

    /// A status, its headers, and what the client makes of it.
    @Test(
        arguments: [
            ("404 Not Found", [], .unsupported), ("501 Not Implemented", [], .unsupported),
            ("200 OK", [("Content-Length", "0")], .failed), ("400 Bad Request", [], .failed),
            ("302 Found", [("Location", "wss://example.org/")], .failed), ("503 Service Unavailable", [], .failed),
            ("503 Service Unavailable", [("Retry-After", "77")], .notBefore(seconds: 77)),
            ("429 Too Many Requests", [("Retry-After", "99999999999999999999")], .notBefore(seconds: 86_400)),
        ] as [(String, [(String, String)], UpdateSourceError.Kind)])
    func refusedHandshakes(status: String, headers: [(String, String)], kind: UpdateSourceError.Kind) async throws {
        let server = try PushServer { peer in
            _ = try peer.connection.nextRequest()
            try peer.connection.sendHead(status, headers)
        }
        let error = try await refusal(server.url)
        #expect(error.kind == kind, "\(error)")
        #expect(error.description.hasPrefix(server.url))
    }

    @Test(arguments: [
        ("cut", "closed before"), ("reset", "connection broke"), ("half", "closed before"), ("garbage", "not HTTP"),
        ("accept", "Sec-WebSocket-Accept"), ("no upgrade", "Upgrade"), ("no connection", "Connection: Upgrade"),
        ("extension", "extension"), ("protocol", "subprotocol"), ("silence", "no answer within"),
        ("drip", "no answer within"),
    ])
    func brokenHandshakes(fault: String, text: String) async throws {
        let server = try PushServer { peer in
            guard let request = try peer.connection.nextRequest() else { return }
            var headers = PushPeer.grant(request)
            switch fault {
            case "cut": return
            case "reset": return peer.connection.reset()
            case "half": return try peer.connection.send("HTTP/1.1 101 Switching Protocols\r\nUpgr")
            case "garbage": return try peer.connection.send("SSH-2.0-OpenSSH_9.2\r\n\r\n")
            case "accept": headers[2].1 = PushPeer.accept("another key")
            case "no upgrade": headers.remove(at: 0)
            case "no connection": headers[1].1 = "keep-alive"
            case "extension": headers.append(("Sec-WebSocket-Extensions", "permessage-deflate"))
            case "protocol": headers.append(("Sec-WebSocket-Protocol", "chat"))
            case "silence": return peer.connection.hang()
            default:
                while true {
                    try peer.connection.send("HTTP/1.1 100 Continue\r\n\r\n")
                    Thread.sleep(forTimeInterval: 0.05)
                }
            }
            try peer.connection.sendHead("101 Switching Protocols", headers)
            peer.connection.hang()
        }
        let error = try await refusal(server.url) {
            if ["silence", "drip"].contains(fault) { $0.greeting = .milliseconds(500) }
        }
        #expect(error.kind == .failed)
        #expect(error.description.contains(text), "\(error)")
    }

    @Test(arguments: [
        (#"{"messageType":"hello","status":503}"#, "refused the greeting"), (PushPeer.broadcast(5), "greeting"),
        ("no JSON", "bytes of JSON"), ("{}", "greeting"), ("close", "code 1011: busy"),
        ("cut", "without a close frame"),
        ("silence", "no answer within"), ("ping", "no answer within"),
    ])
    func brokenGreetings(answer: String, text: String) async throws {
        let server = try PushServer { peer in
            try peer.shakeHands()
            _ = try peer.nextFrame()
            switch answer {
            case "cut": return
            case "close": try peer.close(1011, "busy")
            case "silence": break
            case "ping":
                while true {
                    try peer.send(Frame.whole | Frame.ping, [])
                    Thread.sleep(forTimeInterval: 0.05)
                }
            default: try peer.send(answer)
            }
            peer.connection.hang()
        }
        let error = try await refusal(server.url) {
            if ["silence", "ping"].contains(answer) { $0.greeting = .milliseconds(500) }
        }
        #expect(error.kind == .failed)
        #expect(error.description.contains(text), "\(error)")
    }

    // MARK: A connection breaks

    enum Fault: String, CaseIterable {
        case oversizedFrame, oversizedMessage, manyFragments, masked, reservedBit, longControlFrame, fragmentedPing
        case noJSON, list, notUTF8, binary, unbegunFragment, unfinishedFragment
        case closed, closedWithCode, closedForReason, closedForGood
        case cut, reset, halfClose

        /// What the error says, and the code that the client closes with, if it does.
        var expected: (text: String, code: Int?) {
            switch self {
            case .oversizedFrame, .oversizedMessage, .manyFragments: ("65536 bytes or 64 frames", 1009)
            case .masked, .reservedBit: ("masked or has a reserved bit", 1002)
            case .longControlFrame, .fragmentedPing: ("rules of WebSocket", 1002)
            case .noJSON, .list: ("bytes of JSON", 1003)
            case .notUTF8: ("not UTF-8", 1007)
            case .binary, .unbegunFragment, .unfinishedFragment: ("no message of text", 1003)
            case .closed, .closedWithCode: ("", 1000)
            case .closedForReason: ("code 1008: go away", 1000)
            case .closedForGood: ("4774", 1000)
            case .cut, .halfClose: ("without a close frame", nil)
            case .reset: ("connection broke", nil)
            }
        }

        fileprivate func make(_ peer: PushPeer) throws {
            let zeros = [UInt8](repeating: 0x20, count: 40_000)
            switch self {
            case .oversizedFrame: try peer.connection.send(PushPeer.head(Frame.whole | Frame.text, length: 65_537))
            case .oversizedMessage:
                try peer.send(Frame.text, zeros)
                try peer.send(Frame.continuation, zeros)
            case .manyFragments:
                try peer.send(Frame.text, [])
                for _ in 0..<64 { try peer.send(Frame.continuation, []) }
            case .masked: try peer.send(Frame.whole | Frame.text, Array("{}".utf8), isMasked: true)
            case .reservedBit: try peer.send(Frame.whole | Frame.text | 0x40, Array("{}".utf8))
            case .longControlFrame: try peer.send(Frame.whole | Frame.ping, Array(zeros[..<126]))
            case .fragmentedPing: try peer.send(Frame.ping, [])
            case .noJSON: try peer.send("hello")
            case .list: try peer.send("[]")
            case .notUTF8: try peer.send(Frame.whole | Frame.text, [0x22, 0xC3, 0x22])
            case .binary: try peer.send(Frame.whole | Frame.binary, Array("{}".utf8))
            case .unbegunFragment: try peer.send(Frame.whole | Frame.continuation, Array("{}".utf8))
            case .unfinishedFragment:
                try peer.send(Frame.text, Array("{".utf8))
                try peer.send("{}")
            case .closed: try peer.close(nil)
            case .closedWithCode: try peer.close(1000, "bye")
            case .closedForReason: try peer.close(1008, "go\u{7}away")
            case .closedForGood: try peer.close(4774)
            case .cut: break
            case .reset: peer.connection.reset()
            case .halfClose: peer.connection.halfClose()
            }
        }
    }

    @Test(arguments: Fault.allCases)
    func brokenConnections(fault: Fault) async throws {
        let told = Told<Int?>()
        let server = try PushServer { peer in
            try peer.open()
            try fault.make(peer)
            if ![.cut, .reset].contains(fault) { told.tell(peer.nextCloseCode()) }
        }
        var connection = try await connect(to: server.url)
        #expect(try await connection.next() == update(1000))
        do throws(UpdateSourceError) {
            let message = try await connection.next()
            #expect(message == nil)
            #expect(fault.expected.text == "")
        } catch {
            #expect(fault.expected.text != "" && error.description.contains(fault.expected.text), "\(error)")
            #expect(error.kind == (fault == .closedForGood ? .unsupported : .failed))
            #expect(!error.description.utf8.contains(7))
        }
        if ![.cut, .reset].contains(fault) { #expect(await told.next == .some(fault.expected.code)) }
    }

    @Test func silenceIsAskedAndThenTheEnd() async throws {
        let server = try PushServer { peer in
            try peer.open()
            for _ in 0..<2 {
                let ping = try peer.nextFrame()
                guard ping.first == Frame.whole | Frame.ping else { return }
                try peer.send(Frame.whole | Frame.pong, ping.payload)
            }
            peer.connection.hang()
        }
        var connection = try await connect(to: server.url) {
            ($0.silence, $0.answer) = (.milliseconds(100), .seconds(1))
        }
        #expect(try await connection.next() == update(1000))
        for _ in 0..<2 { #expect(try await connection.next() == .heartbeat) }
        let error = try await #require(
            #expect(throws: UpdateSourceError.self) { _ = try await connection.next() })
        #expect(error.description.contains("no answer to a ping"))
    }

    /// The library gives a server up that sends without end, however small what it sends is.
    @Test(
        arguments: [
            ("600 messages", [0x81, 0x02, 0x7B, 0x7D]), ("60 pings", [0x89, 0x00]), ("60 pings", [0x8A, 0x00]),
        ] as [(String, [UInt8])])
    func endlessFramesAreNotRead(limit: String, frame: [UInt8]) async throws {
        let told = Told<Int>()
        let server = try PushServer { peer in
            try peer.open()
            var sent = 0
            let many = Array(repeatElement(frame, count: 5000).joined())
            while (try? peer.connection.send(many)) != nil { sent += many.count }
            told.tell(sent)
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "push-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: folder) }
        var config = RemoteSettingsConfig(server: .custom(url: "http://127.0.0.1:1/v2"))
        var patience = NIOPushBroadcastSource.Patience()
        patience.answer = .milliseconds(100)
        config.updates.channel = .source(NIOPushBroadcastSource(url: server.url, patience: patience))
        config.log = { _ in }
        let service = RemoteSettingsService(storageDir: folder.path, config: config)
        service.startUpdates()
        let sent = try #require(await told.next)
        // What was sent is in buffers of the system, most of it.
        #expect(sent < 64 << 20)
        for _ in 0..<1000 {
            if case .waiting = service.updateStatus { break }
            try await Task.sleep(for: .milliseconds(10))
        }
        guard case .waiting(let reason) = service.updateStatus else {
            Issue.record("\(service.updateStatus)")
            return
        }
        #expect(reason.contains(limit), "\(reason)")
        service.shutdown()
    }

    // MARK: TLS

    @Test(arguments: ["right", "another authority", "another name", "expired"])
    func certificates(which: String) async throws {
        let server = try PushServer { peer in
            try peer.open()
            peer.connection.hang()
        }
        let certificate = try ServerCertificate(
            name: which == "another name" ? "elsewhere.example" : "localhost", validFor: which == "expired" ? -1 : 30)
        let trusted = which == "another authority" ? try ServerCertificate() : certificate
        let proxy = try await TLSProxy(to: server.port, pem: certificate.certificateAndKey)
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(trusted.authority.utf8)))
        let source = NIOPushBroadcastSource(
            url: "wss://localhost:\(proxy.port)/push", tlsConfiguration: configuration)
        do throws(UpdateSourceError) {
            var connection = try await source.connect()
            let message = try await connection.next()
            #expect(message == update(1000))
            #expect(which == "right")
        } catch {
            #expect(which != "right" && error.description.contains("no secure connection"), "\(error)")
            #expect(error.kind == .failed)
        }
    }
}
