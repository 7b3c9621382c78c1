import Foundation
import RemoteSettingsModel

/// An event stream on loopback that fails on request, in the ways that networks and servers fail.
package final class EventStreamServer: Sendable {
    /// How connections end or become unusable.
    package enum Fault: String, Sendable, CaseIterable {
        /// The server ends the stream properly.
        case end
        /// The connection ends in the middle of an event, without the last chunk.
        case cut
        /// The connection is reset.
        case reset
        /// The server closes its side without the last chunk, but keeps reading.
        case halfClose
        /// Nothing arrives any more, not even heartbeats.
        case stall
        /// As `reset`, and the next two connections are closed without a response, as in a server restart.
        case restart
        /// As `end`, and the next connection is answered with 502.
        case gateway
        /// As `end`; on the next connection, all bytes arrive one by one.
        case drip
    }

    private enum Order {
        case send(String)
        case fault(Fault)
    }

    private struct State {
        var greeting = ""
        var connections = 0
        /// The orders for each open connection.
        var open: [Int: [Order]] = [:]
        var next: [Fault] = []
    }

    package let url: String
    private let state = Mutex(State())
    private let heartbeat: Double

    /// - Parameter heartbeat: seconds between two heartbeats.
    package init(heartbeat: Double) throws {
        let listener = try LoopbackListener()
        url = "http://127.0.0.1:\(listener.port)/updates"
        self.heartbeat = heartbeat
        listener.serve { [weak self] connection in try self?.answer(connection) }
    }

    /// The number of connections so far.
    package var connections: Int { state.withLock { $0.connections } }
    /// The number of open connections, including stalled ones.
    package var open: Int { state.withLock { $0.open.count } }

    /// Sets the text that each new connection begins with.
    package func greet(_ text: String) { state.withLock { $0.greeting = text } }

    package func send(_ text: String) { order(.send(text)) }

    package func fail(_ fault: Fault) {
        switch fault {
        case .restart:
            state.withLock { $0.next = [.reset, .reset] }
            order(.fault(.reset))
        case .gateway, .drip:
            state.withLock { $0.next = [fault] }
            order(.fault(.end))
        default: order(.fault(fault))
        }
    }

    private func order(_ order: Order) {
        state.withLock { state in for number in state.open.keys { state.open[number]?.append(order) } }
    }

    private func answer(_ connection: Connection) throws {
        guard try connection.nextRequest() != nil else { return }
        let (number, greeting, first) = state.withLock { state in
            state.connections += 1
            return (state.connections, state.greeting, state.next.isEmpty ? nil : state.next.removeFirst())
        }
        if first == .reset { return connection.reset() }
        if first == .gateway { return try connection.answer("502 Bad Gateway") }
        state.withLock { $0.open[number] = [.send(greeting)] }
        defer { state.withLock { $0.open[number] = nil } }
        try connection.sendHead("200 OK", [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])
        var last = ContinuousClock.now
        while true {
            for order in state.withLock({ $0.open.updateValue([], forKey: number) ?? [] }) {
                switch order {
                case .send(let text) where first == .drip:
                    for byte in text.utf8 { try chunk([byte], on: connection) }
                case .send(let text): try chunk(Array(text.utf8), on: connection)
                case .fault(.cut): return try chunk(Array("event: update\ndata: {\"times".utf8), on: connection)
                case .fault(.reset): return connection.reset()
                case .fault(.halfClose):
                    connection.halfClose()
                    return connection.hang()
                case .fault(.stall): return connection.hang()
                case .fault: return try connection.send("0\r\n\r\n")
                }
            }
            Thread.sleep(forTimeInterval: 0.002)
            guard ContinuousClock.now - last > .seconds(heartbeat) else { continue }
            last = .now
            try chunk(Array(": heartbeat\n\n".utf8), on: connection)
        }
    }

    private func chunk(_ bytes: [UInt8], on connection: Connection) throws {
        guard !bytes.isEmpty else { return }
        try connection.send(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8))
    }
}
