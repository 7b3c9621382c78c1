import Foundation
import RemoteSettingsModel

/// What the server has observed for one test.
struct Observations {
    var requests: [FaultyServer.SeenRequest] = []
    var connections: Set<UUID> = []
    var sentBytes = 0
    /// Requests by fault.
    var counts: [String: Int] = [:]
    var hasRefusedRange = false
    /// The responses of the fault `lie`, by the number of the request.
    var lies: [[Lie.Part]] = []
}

/// One HTTP/1.1 server for all tests of a process, which misbehaves on request. The first path segment is the test's
/// name, for which requests are counted; the second selects the fault.
final class FaultServer: Sendable {
    static let shared = Result { try FaultServer() }

    let port: Int
    let observations = Mutex<[String: Observations]>([:])

    private init() throws {
        let listener = try LoopbackListener()
        port = listener.port
        listener.serve { connection in
            while let request = try connection.nextRequest() {
                guard try self.answer(request, on: connection) else { return }
            }
        }
    }

    /// - Returns: whether the connection may be used again.
    private func answer(_ received: ReceivedRequest, on connection: Connection) throws -> Bool {
        let parts = received.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let segments = parts[0].split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        guard segments.count >= 2 else { return false }
        let (name, fault) = (segments[0], segments[1])
        let count = observations.withLock { all in
            all[name, default: Observations()].requests.append(
                .init(target: String(received.target.dropFirst(name.count + 1)), headers: received.headers))
            all[name]?.connections.insert(connection.id)
            let count = all[name]?.counts[fault, default: 0] ?? 0
            all[name]?.counts[fault] = count + 1
            return count
        }
        connection.onSend = { bytes in self.observations.withLock { $0[name]?.sentBytes += bytes } }
        let answer = FaultyAnswer(
            connection: connection, server: self, name: name, fault: fault, rest: Array(segments.dropFirst(2)),
            path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "", headers: received.headers,
            count: count)
        return try answer.send()
    }
}

/// One response, with the fault in its URL.
struct FaultyAnswer {
    let connection: Connection
    let server: FaultServer
    let name: String
    let fault: String
    /// The path segments after the fault.
    let rest: [String]
    let path: String
    let query: String
    let headers: [String: String]
    /// The number of earlier requests with this name and fault.
    let count: Int

    private static let compressed = Gzip.compress(document)
    private static let etag = "\"one\""
    private static let chunked = ("Transfer-Encoding", "chunked")
    private static let gzip = ("Content-Encoding", "gzip")

    /// - Returns: whether the connection may be used again.
    func send() throws -> Bool {
        if fault.hasPrefix("unavailable-"), let times = Int(fault.dropFirst("unavailable-".count)) {
            return try unavailable(times)
        }
        if fault.hasPrefix("file") { return try sendFile() }
        if fault == "coded" { return try sendCoded() }
        if fault.hasPrefix("gzip") || fault == "bomb" { return try sendCompressed() }
        switch fault {
        case "ok": return try whole()
        case "raw": return try raw()
        case "lie": return try lie()
        case "closed": return false
        case "closed-once": return count == 0 ? false : try whole()
        case "cut-once": return count == 0 ? try cutPlain() : try whole()
        case "cut-plain": return try cutPlain()
        case "silent": connection.hang()
        case "huge-header": try head("200 OK", ("X-Huge", String(repeating: "x", count: 1 << 20)), length(0))
        case "announced-huge":
            try head("200 OK", ("Content-Length", "1000000000000"))
            connection.hang()
        case "stalled":
            try head("200 OK", length(1000))
            try connection.send("xxxxxxxxxx")
            connection.hang()
        case "endless": try endless()
        case "endless-unframed":
            try head("200 OK", ("Connection", "close"))
            let piece = [UInt8](repeating: 0x78, count: 65_536)
            while true { try connection.send(piece) }
        case "cut-in-chunk":
            try head("200 OK", Self.chunked)
            try connection.send("3e8\r\n" + String(repeating: "x", count: 500))
        case "cut-between-chunks":
            try head("200 OK", Self.chunked)
            try connection.send("5\r\nhello\r\n")
        default: return try sendRedirect()
        }
        return false
    }

    private func length(_ count: Int) -> (String, String) { ("Content-Length", "\(count)") }

    private func head(_ status: String, _ fields: (String, String)...) throws {
        try connection.sendHead(status, fields)
    }

    private func answer(_ status: String, _ body: [UInt8] = [], _ fields: (String, String)...) throws -> Bool {
        try connection.answer(status, body, fields)
        return true
    }

    private func whole() throws -> Bool { try answer("200 OK", document) }

    /// The path contains the response in base64url.
    private func raw() throws -> Bool {
        let text = rest[0].replacing("-", with: "+").replacing("_", with: "/")
        try connection.send(Array(Data(base64Encoded: text) ?? Data()))
        return false
    }

    private func lie() throws -> Bool {
        let answers = server.observations.withLock { $0[name]?.lies ?? [] }
        guard !answers.isEmpty else { return false }
        for part in answers[min(count, answers.count - 1)] {
            switch part {
            case .bytes(let bytes): try connection.send(bytes)
            case .drip(let bytes, let milliseconds):
                for byte in bytes {
                    try connection.send([byte])
                    Thread.sleep(forTimeInterval: Double(milliseconds) / 1000)
                }
            case .hang: connection.hang()
            case .keepAlive: return true
            }
        }
        return false
    }

    /// Responds with 503 this many times, with the `Retry-After` that follows in the path (`-` for none), then
    /// normally.
    private func unavailable(_ times: Int) throws -> Bool {
        guard count < times else { return try whole() }
        let fields = rest[0] == "-" ? [] : [("Retry-After", rest[0].removingPercentEncoding ?? "")]
        try connection.answer("503 Service Unavailable", Array(#"{"message": "storm"}"#.utf8), fields)
        return true
    }

    private func cutPlain() throws -> Bool {
        try head("200 OK", length(1000))
        try connection.send(String(repeating: "x", count: 500))
        return false
    }

    private func endless() throws {
        try head("200 OK", Self.chunked)
        let piece = Array("10000\r\n".utf8) + [UInt8](repeating: 0x78, count: 65_536) + Array("\r\n".utf8)
        while true { try connection.send(piece) }
    }
}

// Compressed bodies.
extension FaultyAnswer {
    private func sendCompressed() throws -> Bool {
        let body = Self.compressed
        switch fault {
        case "gzip-ok":
            guard headers["accept-encoding"]?.contains("gzip") == true else { return try whole() }
            return try answer("200 OK", body, Self.gzip)
        case "gzip-members":
            let half = document.count / 2
            return try answer(
                "200 OK", Gzip.compress(Array(document[..<half])) + Gzip.compress(Array(document[half...])), Self.gzip)
        case "gzip-chunked":
            try head("200 OK", Self.gzip, Self.chunked)
            for start in stride(from: 0, to: body.count, by: 100) {
                try chunk(Array(body[start..<min(body.count, start + 100)]))
            }
            try connection.send("0\r\n\r\n")
            return true
        case "gzip-cut-on-the-wire":
            try head("200 OK", Self.gzip, length(body.count))
            try connection.send(Array(body[..<(body.count / 2)]))
            return false
        // The announced length is sent completely, but the compressed stream in it is truncated.
        case "gzip-cut-inside": return try answer("200 OK", body.dropLast(20), Self.gzip)
        case "gzip-cut-chunked":
            try head("200 OK", Self.gzip, Self.chunked)
            try chunk(Array(body[..<(body.count / 2)]))
            try connection.send("0\r\n\r\n")
            return true
        // About 10 GB of zeros in 10 MB: one deflate block after another.
        case "bomb":
            let block = Gzip.zeros
            try head("200 OK", Self.gzip, length(Gzip.header.count + 640 * block.count))
            try connection.send(Gzip.header)
            for _ in 0..<640 { try connection.send(block) }
            return false
        default: return false
        }
    }

    fileprivate func chunk(_ piece: [UInt8]) throws {
        try connection.send(Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8))
    }
}

// Redirects, and the `_since` rules of several servers.
extension FaultyAnswer {
    private func sendRedirect() throws -> Bool {
        switch fault {
        case "loop": return try answer("302 Found", [], ("Location", path + (query.isEmpty ? "" : "?" + query)))
        case "circle":
            let last = rest.last == "" ? rest[rest.count - 2] : rest[rest.count - 1]
            let step = ["v1": "a", "a": "b", "b": "a"][last] ?? "a"
            return try answer("302 Found", Array("round and round".utf8), ("Location", "/\(name)/circle/\(step)"))
        case "many": return try answer("302 Found", [], ("Location", "/\(name)/many/\(count)"))
        // One redirect with a body, to a working URL.
        case "moved":
            return try answer("301 Moved Permanently", Array("over there".utf8), ("Location", "../../ok/v1/?moved"))
        case "drops-since":
            guard query.contains("_since") else { return try answer("200 OK", Array("full".utf8)) }
            let kept = query.split(separator: "&").filter { !$0.hasPrefix("_since") }.joined(separator: "&")
            return try redirect("\(path)?\(kept)")
        case "changes-since":
            if query.contains("_since=99") { return try answer("200 OK", Array("some delta".utf8)) }
            return try redirect("\(path)?_expected=1&_since=99")
        case "keeps-since":
            if rest[0] == "elsewhere" { return try answer("200 OK", Array("delta".utf8)) }
            return try redirect("/\(name)/keeps-since/elsewhere?\(query)")
        // An old server with version 1 of the API.
        case "quoted":
            let values = query.split(separator: "&").filter { $0.hasPrefix("_since=") }
            if values.allSatisfy({ $0.hasPrefix("_since=%22") }) { return try answer("200 OK", Array("delta".utf8)) }
            return try answer(
                "400 Bad Request", Array(#"{"code": 400, "message": "_since in querystring is invalid"}"#.utf8))
        default: return false
        }
    }

    private func redirect(_ location: String) throws -> Bool {
        try answer("307 Temporary Redirect", [], ("Location", location))
    }
}

// A file, with and without ranges.
extension FaultyAnswer {
    private var rangeStart: Int? {
        guard let text = headers["range"], text.hasPrefix("bytes="), text.hasSuffix("-") else { return nil }
        return Int(text.dropFirst("bytes=".count).dropLast())
    }

    private func sendFile() throws -> Bool {
        let start = rangeStart
        switch fault {
        case "file": return try ranged()
        case "file-endless":
            try endless()
            return false
        // Each response is cut off after 70,000 bytes.
        case "file-breaks-often":
            let start = start ?? 0
            try partHead(from: start, count: file.count - start, isPart: start > 0)
            try connection.send(Array(file[start..<min(file.count, start + 70_000)]))
            return false
        // After the range was refused, the whole file is sent.
        case "file-gone-range" where server.observations.withLock({ $0[name]?.hasRefusedRange ?? false }):
            return try wholeFile()
        default: break
        }
        // The response is cut off after 70,000 bytes until the client requests the rest.
        guard start != nil else {
            try partHead(from: 0, count: file.count, isPart: false)
            try connection.send(Array(file[..<70_000]))
            return false
        }
        switch fault {
        case "file-breaks": return try ranged()
        case "file-breaks-no-ranges": return try wholeFile()
        // The file has changed at the second request; `If-Range` makes the server send it whole.
        case "file-changed":
            return headers["if-range"] != "\"two\"" ? try wholeFile(etag: "\"two\"") : try part(from: 0)
        case "file-gone-range":
            server.observations.withLock { $0[name]?.hasRefusedRange = true }
            return try answer("416 Range Not Satisfiable", [], ("Content-Range", "bytes */10"))
        default: return false
        }
    }

    private func ranged() throws -> Bool {
        guard let start = rangeStart, headers["if-range"] ?? Self.etag == Self.etag else { return try wholeFile() }
        guard start < file.count else {
            return try answer("416 Range Not Satisfiable", [], ("Content-Range", "bytes */\(file.count)"))
        }
        return try part(from: start)
    }

    /// A row of ``Coding``: the path contains the coding, the body and the manner.
    private func sendCoded() throws -> Bool {
        guard let body = Coding.Body(rawValue: rest[1])?.bytes, let manner = Coding.Manner(rawValue: rest[2]) else {
            return false
        }
        let fields = [("ETag", Self.etag), ("Content-Encoding", rest[0].replacing("+", with: ", "))]
        if manner == .chunked {
            try connection.sendHead("200 OK", fields + [Self.chunked])
            try chunk(body)
            try connection.send("0\r\n\r\n")
        } else if manner == .breaks, let start = rangeStart {
            let range = ("Content-Range", "bytes \(start)-\(body.count - 1)/\(body.count)")
            try connection.answer("206 Partial Content", Array(body[start...]), fields + [range])
        } else if manner != .whole, count == 0 {
            try connection.sendHead("200 OK", fields + [length(body.count)])
            try connection.send(Array(body[..<(body.count / 2)]))
            return false
        } else {
            try connection.answer("200 OK", body, fields)
        }
        return true
    }

    private func wholeFile(etag: String = Self.etag) throws -> Bool { try answer("200 OK", file, ("ETag", etag)) }

    private func part(from start: Int) throws -> Bool {
        try partHead(from: start, count: file.count - start, isPart: true)
        try connection.send(Array(file[start...]))
        return true
    }

    private func partHead(from start: Int, count: Int, isPart: Bool) throws {
        if isPart {
            try head("206 Partial Content", length(count), ("ETag", Self.etag), contentRange(from: start))
        } else {
            try head("200 OK", length(count), ("ETag", Self.etag))
        }
    }

    private func contentRange(from start: Int) -> (String, String) {
        ("Content-Range", "bytes \(start)-\(file.count - 1)/\(file.count)")
    }
}

/// gzip (RFC 1952) as produced by servers.
enum Gzip {
    static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3]
    /// 16 MiB of zeros as a part of a deflate stream that can be repeated.
    static let zeros = Deflater(level: 9)?.block(Bytes([UInt8](repeating: 0, count: 16 << 20)), isLast: false) ?? []

    static func compress(_ bytes: [UInt8]) -> [UInt8] { GzipMember.compress([Bytes(bytes)], level: 9)?.array ?? [] }
}
