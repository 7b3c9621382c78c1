import Foundation

/// A TCP listener on 127.0.0.1, on a port chosen by the system, with a thread for each connection. It listens until the
/// process exits.
package struct LoopbackListener: Sendable {
    package let port: Int
    private let descriptor: Int32

    package init() throws {
        let descriptor = socket(AF_INET, streamSocket, 0)
        guard descriptor >= 0 else { throw ConnectionError("socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe bind(descriptor, generic, length) == 0 && listen(descriptor, 128) == 0
                    && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard isBound else { throw ConnectionError("bind") }
        self.descriptor = descriptor
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    /// Calls `body` for each connection on a separate thread, and closes the connection when it returns.
    package func serve(_ body: @escaping @Sendable (Connection) throws -> Void) {
        let descriptor = descriptor
        Thread.detachNewThread {
            while true {
                let accepted = accept(descriptor, nil, nil)
                guard accepted >= 0 else {
                    if errno == EINTR || errno == ECONNABORTED { continue }
                    return
                }
                Thread.detachNewThread {
                    let connection = Connection(accepted)
                    try? body(connection)
                    connection.close()
                }
            }
        }
    }
}

#if canImport(Glibc)
private let streamSocket = Int32(SOCK_STREAM.rawValue)
#else
private let streamSocket = SOCK_STREAM
#endif

// Outside of ``Connection``, whose methods have the same names as these calls.
private func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

private func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
    let flags: Int32 = 0
    #else
    let flags = Int32(MSG_NOSIGNAL)
    #endif
    return unsafe send(descriptor, bytes.baseAddress, bytes.count, flags)
}

/// The connection is closed or could not be established.
struct ConnectionError: Error {
    let call: String
    let code = errno

    init(_ call: String) { self.call = call }
}

/// The head of a request.
package struct ReceivedRequest: Sendable {
    /// Path and query as they were sent.
    package let target: String
    /// Names in lower case.
    package let headers: [String: String]

    init?(_ head: String) {
        let lines = head.components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count == 3 else { return nil }
        target = String(words[1])
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...]
            headers[line[..<colon].lowercased()] = value.trimmingCharacters(in: .whitespaces)
        }
        self.headers = headers
    }
}

/// A connection, used by one thread that may block.
package final class Connection {
    let id = UUID()
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    /// Called with the number of bytes accepted by the system.
    var onSend: (Int) -> Void = { _ in }

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var isOn: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, size)
        #if canImport(Darwin)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &isOn, size)
        #endif
    }

    func close() { closeDescriptor(descriptor) }

    /// Makes ``close()`` reset the connection, so that the client's system reports an error.
    package func reset() {
        var now = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }

    /// Stops sending, but keeps receiving.
    package func halfClose() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    /// - Returns: `nil` if the client has disconnected or does not speak HTTP.
    package func nextRequest() throws -> ReceivedRequest? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = buffer.firstRange(of: end) {
                let head = String(decoding: buffer[..<range.lowerBound], as: UTF8.self)
                buffer.removeSubrange(..<range.upperBound)
                return ReceivedRequest(head)
            }
            if buffer.first == 0x16 {
                // A TLS ClientHello: plain HTTP servers respond with an error.
                try sendHead("400 Bad Request", [("Content-Length", "0")])
                return nil
            }
            let received = receive()
            guard !received.isEmpty else { return nil }
            buffer += received
        }
    }

    private func receive() -> [UInt8] {
        while true {
            var failed = false
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 65_536) { space, count in
                let got = unsafe recv(descriptor, space.baseAddress, space.count, 0)
                failed = got < 0 && errno == EINTR
                count = max(0, got)
            }
            if !failed { return bytes }
        }
    }

    /// Waits until the client disconnects.
    package func hang() { while !receive().isEmpty {} }

    package func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let step = unsafe bytes[sent...].withUnsafeBytes { unsafe sendBytes(descriptor, $0) }
            if step < 0 && errno == EINTR { continue }
            guard step > 0 else { throw ConnectionError("send") }
            sent += step
            onSend(step)
        }
    }

    package func send(_ text: String) throws { try send(Array(text.utf8)) }

    package func sendHead(_ status: String, _ fields: [(String, String)]) throws {
        try send("HTTP/1.1 \(status)\r\n" + fields.map { "\($0.0): \($0.1)\r\n" }.joined() + "\r\n")
    }

    /// Sends a complete response with its length.
    package func answer(_ status: String, _ body: [UInt8] = [], _ fields: [(String, String)] = []) throws {
        try sendHead(status, [("Content-Length", "\(body.count)")] + fields)
        try send(body)
    }
}
