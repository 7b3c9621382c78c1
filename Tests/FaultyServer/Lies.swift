import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// A misbehavior of a server, and the allowed outcomes for a client.
///
/// The table is the same for all transports: each must return a ``Failure`` or the right bytes in time.
package struct Lie: Sendable {
    /// What the server does for one request before it closes the connection.
    enum Part: Sendable {
        case bytes([UInt8])
        /// Byte by byte, at intervals of this many milliseconds.
        case drip([UInt8], milliseconds: Int)
        /// Waits until the client disconnects.
        case hang
        /// Accepts further requests on the same connection.
        case keepAlive
    }

    /// What the client requests.
    enum Asking: Sendable {
        /// A document of at most 1,000 bytes.
        case document
        /// A document, and then a second one, possibly on the same connection.
        case two
        /// A download that resumes after this many bytes.
        case download(held: Int)
    }

    /// The allowed outcomes.
    enum Outcome: Sendable {
        case right
        case error
        /// Either of them: the response can be read in two ways, and both are safe.
        case either
        /// An error, or these bytes, which match what the server announces, but are not the right ones. HTTP cannot
        /// tell the difference; signatures and hashes can.
        case said([UInt8])
    }

    package let name: String
    /// By the number of the request; the last one repeats.
    let answers: [[Part]]
    let asking: Asking
    let outcome: Outcome
    let tries: Int
    let change: @Sendable (inout Limits) -> Void

    init(
        _ name: String, _ outcome: Outcome, _ answers: [[Part]], asking: Asking = .document, tries: Int = 1,
        _ change: @escaping @Sendable (inout Limits) -> Void = { _ in }
    ) {
        self.name = name
        self.outcome = outcome
        self.answers = answers
        self.asking = asking
        self.tries = tries
        self.change = change
    }

    init(_ name: String, _ outcome: Outcome, _ answer: String, asking: Asking = .document) {
        self.init(name, outcome, [[.bytes(Array(answer.utf8))]], asking: asking)
    }

    /// The right body.
    static let truth = #"{"hello":"world","n":[1,2,3]}"#
    /// Bytes that must never reach the reader.
    static let evil = #"{"hello":"EVIL!","n":[6,6,6]}"#

    /// Whether one of the responses ends within its head.
    package var isCutInHead: Bool {
        answers.contains { parts in
            guard case .bytes(let bytes)? = parts.first else { return true }
            return bytes.firstRange(of: Array("\r\n\r\n".utf8)) == nil
        }
    }

    /// The time limit for one lie in seconds: far more than its limits allow on an idle machine.
    private static let patience = 120

    /// Tests a transport with the lie.
    ///
    /// - Returns: what is wrong with the outcome; `nil` if nothing is.
    fileprivate func complaint(about transport: any HTTPTransport, limits: Limits) async throws -> String? {
        let server = try FaultyServer(transport: transport)
        server.tell(answers)
        var limits = limits
        limits.rootDocumentBytes = 1000
        change(&limits)
        // The transport may reuse a connection that an earlier lie has closed; then it tries another one.
        if case .right = outcome { limits.tries = tries + 8 } else { limits.tries = tries + 1 }
        let client = try server.client("lie", limits: limits)
        let told = await withTaskGroup(of: String?.self) { group in
            group.addTask { await self.told(client, server) }
            group.addTask {
                try? await Task.sleep(for: .seconds(Self.patience))
                return Task.isCancelled ? nil : "nothing came of it within \(Self.patience) s"
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        return told.map { "\(name): \($0)" }
    }

    private func told(_ client: ServerClient, _ server: FaultyServer) async -> String? {
        do {
            let body = try await ask(client, server)
            switch outcome {
            case .said(let said) where body == said: return nil
            case _ where body != Array(Self.truth.utf8):
                return "these bytes are wrong: \(String(decoding: body.prefix(200), as: UTF8.self).debugDescription)"
            case .error: return "it was believed"
            case .right, .either, .said: return nil
            }
        } catch let error as Failure {
            if case .right = outcome { return "it is right, and was refused: \(error)" }
            return nil
        } catch {
            return "not a Failure: \(error)"
        }
    }

    private func ask(_ client: ServerClient, _ server: FaultyServer) async throws -> [UInt8] {
        switch asking {
        case .document: return try await client.rootDocument().body.array
        case .two:
            // Whatever the outcome of the first request, the second gets its own response or an error.
            _ = try? await client.rootDocument()
            return try await client.rootDocument().body.array
        case .download(let held):
            var bytes = Array(Self.truth.utf8.prefix(held))
            let base = try server.attachments("lie", of: client)
            var hasher = ContentHasher()
            hasher.update(bytes.span)
            let resume = held > 0 ? ResumePoint(offset: held, hasher: hasher) : nil
            let digest = SHA256Digest(hashing: Bytes(utf8: Self.truth))
            try await client.attachment(
                "a", at: base, size: Self.truth.utf8.count, digest: digest, resume: resume
            ) { part in
                switch part {
                case .start(let start): bytes.removeLast(bytes.count - start)
                case .bytes(let more): bytes += more
                }
            }
            return bytes
        }
    }
}

// The table.
extension Lie {
    /// A group of rows in the table.
    package struct Chapter: Sendable, CustomStringConvertible {
        package let description: String
        package let lies: [Lie]
        fileprivate var limits = FaultyServer.limits

        /// Tests a transport with all lies, several at a time.
        ///
        /// - Returns: the wrong outcomes.
        ///
        /// - Parameters:
        ///   - make: creates the transport, with the timeouts for these lies.
        ///   - isLeftOut: whether to skip a lie.
        package func complaints(
            about make: (Limits) -> any HTTPTransport, leavingOut isLeftOut: (Lie) -> Bool = { _ in false }
        ) async throws -> [String] {
            let transport = make(limits)
            return try await lies.filter { !isLeftOut($0) }.concurrentMap(width: 8) {
                try await $0.complaint(about: transport, limits: limits)
            }.compactMap { $0 }
        }
    }

    package static let chapters: [Chapter] = [
        Chapter(description: "every status", lies: statuses),
        Chapter(description: "cut at every byte", lies: cuts),
        Chapter(description: "stalls and slow drips", lies: stalls, limits: short),
        Chapter(description: "redirects", lies: redirects),
        Chapter(description: "wrong lengths", lies: lengths),
        Chapter(description: "wrong chunks", lies: chunks),
        Chapter(description: "wrong encodings", lies: encodings),
        Chapter(description: "data after the body", lies: trailing),
        Chapter(description: "wrong ranges", lies: ranges),
        Chapter(description: "other content at the next try", lies: changes),
        Chapter(description: "wrong heads", lies: heads),
    ]

    private static let length = truth.utf8.count
    private static let whole = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n\(truth)"
    private static let close = "Connection: close\r\n"

    private static func answer(_ fields: String, _ body: String = truth) -> String {
        "HTTP/1.1 200 OK\r\n\(close)\(fields)\r\n\(body)"
    }

    private static func text(_ text: String) -> Part { .bytes(Array(text.utf8)) }

    private static let statuses = (0...999).map { status in
        let code = String(status)
        let text = String(repeating: "0", count: 3 - code.count) + code
        // Only 200 has a document; 204 means that there is nothing newer.
        return Lie(
            "status \(text)", status == 200 ? .right : status == 204 ? .said([]) : .error,
            "HTTP/1.1 \(text) Words\r\n\(close)Content-Length: \(length)\r\n\r\n\(truth)")
    }

    private static let cuts: [Lie] = {
        let fields = "HTTP/1.1 200 OK\r\n"
        let packed = Gzip.compress(Array(truth.utf8))
        let chunks =
            "5\r\n\(truth.prefix(5))\r\n\(String(length - 5, radix: 16))\r\n\(truth.dropFirst(5))\r\n0\r\n\r\n"
        let answers: [(String, [UInt8], needed: Int)] = [
            ("with a length", Array("\(fields)Content-Length: \(length)\r\n\r\n\(truth)".utf8), 0),
            // A client that does not read trailers may stop at the last chunk's line.
            ("in chunks", Array("\(fields)Transfer-Encoding: chunked\r\n\r\n\(chunks)".utf8), 5),
            (
                "compressed",
                Array("\(fields)Content-Encoding: gzip\r\nContent-Length: \(packed.count)\r\n\r\n".utf8) + packed, 0
            ),
            // The compressed stream itself shows where it ends.
            (
                "compressed, without a length",
                Array("\(fields)Connection: close\r\nContent-Encoding: gzip\r\n\r\n".utf8) + packed, 0
            ),
        ]
        return answers.flatMap { name, bytes, lenient in
            (0...bytes.count).map { count in
                let outcome: Outcome =
                    count == bytes.count ? .right : count >= bytes.count - lenient ? .either : .error
                return Lie(
                    "\(name), cut after \(count) of \(bytes.count) bytes", outcome, [[.bytes(Array(bytes[..<count]))]])
            }
        }
    }()

    private static let short: Limits = {
        var limits = FaultyServer.limits
        limits.headTimeoutSeconds = 2
        limits.idleTimeoutSeconds = 2
        return limits
    }()

    private static let stalls: [Lie] = {
        let bytes = Array(whole.utf8)
        let endless = Part.drip(Array(repeating: UInt8(ascii: "x"), count: 100_000), milliseconds: 50)
        var lies = [0, 1, 9, 17, 30, bytes.count - length, bytes.count - length + 1, bytes.count - 1].map { count in
            Lie("a stall after \(count) bytes", .error, [[.bytes(Array(bytes[..<count])), .hang]])
        }
        let chunked = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1d\r\n\(truth)\r\n0\r\n\r\n".utf8)
        lies += [1, 4, 7, 10, 36].map { left in
            Lie(
                "a stall \(left) bytes before the end of chunks", left < 5 ? .either : .error,
                [[.bytes(chunked.dropLast(left)), .hang]])
        }
        lies += [
            Lie("a slow head and body", .right, [[.drip(bytes, milliseconds: 5)]]),
            Lie("a head without an end, byte by byte", .error, [[text("HTTP/1.1 200 OK\r\nX: "), endless]]),
            Lie("a body without an end, byte by byte", .error, [[text("HTTP/1.1 200 OK\r\n\r\n"), endless]]) {
                ($0.throughputSeconds, $0.rootDocumentBytes) = (1, 1 << 20)
            },
            Lie("a document that takes too long", .error, [[text("HTTP/1.1 200 OK\r\n\r\n"), endless]]) {
                ($0.leastBytesPerSecond, $0.documentSeconds, $0.rootDocumentBytes) = (0, 1, 1 << 20)
            },
        ]
        return lies
    }()

    private static let redirects: [Lie] = {
        let statuses = [300, 301, 302, 303, 304, 305, 306, 307, 308]
        let targets = [
            nil, "", " ", "?again", "#again", "file:///etc/passwd", "file:/etc/passwd", "ftp://127.0.0.1/",
            "javascript:1", "data:,\(truth)", "http://", "http:///v1/", "http://user:secret@127.0.0.1/",
            "http://host.invalid/v1/", "//host.invalid/v1/", "https://host.invalid/v1/", "http://127.0.0.1:99999/",
            "http://127.0.0.1:-1/", "http://[::1", "http://127.0.0.1:1/", "\u{7F}", "%zz", "/lie/", "\\\\host\\share",
        ]
        return statuses.flatMap { status in
            targets.map { target in
                let field = target.map { "Location: \($0)\r\n" } ?? ""
                return Lie(
                    "\(status) to \(target.map { $0.debugDescription } ?? "nowhere")", .error,
                    "HTTP/1.1 \(status) Elsewhere\r\n\(close)\(field)Content-Length: 0\r\n\r\n")
            }
        }
    }()

    private static let lengths: [Lie] = {
        let wrong = [
            "\(length + 1)", "\(length + 1000)", "-1", "-\(length)", "4294967326", "9223372036854775807",
            "9223372036854775808", "18446744073709551615", "18446744073709551645", "99999999999999999999999999",
            "0x1d", "1d", "two", "\(length).0", "\(length)e0", "\(length) \(length)", "",
        ]
        var lies = wrong.map {
            Lie("Content-Length: \($0)", $0 == "" ? .either : .error, answer("Content-Length: \($0)\r\n"))
        }
        // Values that some clients read as the same number.
        lies += ["+\(length)", "\(length), \(length)", " \(length) ", "000\(length)", "\(length);"].map {
            Lie("Content-Length: \($0)", .either, answer("Content-Length: \($0)\r\n"))
        }
        // The announced bytes are only a part of the document.
        lies += [0, 1, length - 1].map {
            Lie("Content-Length: \($0)", .said(Array(truth.utf8.prefix($0))), answer("Content-Length: \($0)\r\n"))
        }
        let (right, longer) = ("Content-Length: \(length)\r\n", "Content-Length: 99\r\n")
        let (shorter, chunked) = ("Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n")
        lies += [
            Lie("two equal lengths", .either, answer(right + right)),
            Lie("two lengths, a longer one last", .error, answer(right + longer)),
            Lie("two lengths, a longer one first", .error, answer(longer + right)),
            Lie("no length", .right, answer("")),
            Lie("1.0 without a length", .right, "HTTP/1.0 200 OK\r\n\r\n\(truth)"),
            Lie("a length and chunks", .either, answer(right + chunked, "1d\r\n\(truth)\r\n0\r\n\r\n")),
            Lie("a shorter length and chunks", .either, answer(shorter + chunked, "1d\r\n\(truth)\r\n0\r\n\r\n")),
            Lie("chunks that are none", .error, answer(chunked)),
        ]
        return lies
    }()

    private static let chunks: [Lie] = {
        func chunked(_ body: String) -> String { answer("Transfer-Encoding: chunked\r\n", body) }
        let long = String(repeating: "x", count: 200_000)
        let sizes = [
            "-1d", "ffff", "7fffffffffffffff", "8000000000000000", "ffffffffffffffff", "1000000000000001d",
            "ffffffffffffffffffffffff", "", "xyz", "0x1d", " ", "\u{0}",
        ]
        var lies = sizes.map {
            Lie("a chunk of \($0.debugDescription)", .error, chunked("\($0)\r\n\(truth)\r\n0\r\n\r\n"))
        }
        lies += [
            // The 30 bytes of the chunk include the carriage return after the document.
            Lie("a short chunk", .said(Array("\(truth)\r".utf8)), chunked("1e\r\n\(truth)\r\n0\r\n\r\n")),
            Lie("a chunk with a zero byte", .either, chunked("1d\u{0}\r\n\(truth)\r\n0\r\n\r\n")),
            Lie("a chunk in capitals", .right, chunked("1D\r\n\(truth)\r\n0\r\n\r\n")),
            Lie("a chunk with zeros", .either, chunked("00000000001d\r\n\(truth)\r\n0\r\n\r\n")),
            Lie("a chunk with an extension", .either, chunked("1d;a=b\r\n\(truth)\r\n0\r\n\r\n")),
            Lie("a chunk with spaces", .either, chunked("1d  \r\n\(truth)\r\n0\r\n\r\n")),
            Lie("line feeds only", .either, chunked("1d\n\(truth)\n0\n\n")),
            Lie("a chunk that is longer than it says", .error, chunked("1c\r\n\(truth)\r\n0\r\n\r\n")),
            Lie("no end of the last line", .either, chunked("1d\r\n\(truth)\r\n0\r\n")),
            Lie("no last chunk", .error, chunked("1d\r\n\(truth)\r\n")),
            Lie("a trailer", .either, chunked("1d\r\n\(truth)\r\n0\r\nContent-Length: 3\r\n\r\n")),
            Lie("a trailer that is none", .either, chunked("1d\r\n\(truth)\r\n0\r\n\(truth)\r\n\r\n")),
            Lie("a long extension", .either, chunked("1d;\(long)\r\n\(truth)\r\n0\r\n\r\n")),
        ]
        let body = "1d\r\n\(truth)\r\n0\r\n\r\n"
        lies += ["xchunked", "chunked, chunked", "identity", "chunked, identity", "gzip, chunked", ""].map {
            Lie("Transfer-Encoding: \($0)", .said(Array(body.utf8)), answer("Transfer-Encoding: \($0)\r\n", body))
        }
        lies.append(Lie("Transfer-Encoding: CHUNKED", .right, answer("Transfer-Encoding: CHUNKED\r\n", body)))
        return lies
    }()

    private static let encodings: [Lie] = {
        let plain = Array(truth.utf8)
        let once = Gzip.compress(plain)
        let twice = Gzip.compress(once)
        func coded(_ name: String, _ outcome: Outcome, _ coding: String?, _ body: [UInt8]) -> Lie {
            let field = coding.map { "Content-Encoding: \($0)\r\n" } ?? ""
            let head = "HTTP/1.1 200 OK\r\n\(close)Content-Length: \(body.count)\r\n\(field)\r\n"
            return Lie(name, outcome, [[.bytes(Array(head.utf8) + body)]])
        }
        var lies = [
            coded("gzip", .right, "gzip", once),
            coded("gzip in capitals", .right, "GZIP", once),
            coded("x-gzip", .either, "x-gzip", once),
            coded("gzip that is none", .error, "gzip", plain),
            coded("gzip of nothing", .error, "gzip", []),
            coded("gzip twice, named once", .said(once), "gzip", twice),
            coded("gzip twice, named twice", .either, "gzip, gzip", twice),
            coded("gzip twice, in two fields", .either, "gzip\r\nContent-Encoding: gzip", twice),
            coded("gzip named twice, done once", .error, "gzip, gzip", once),
            coded("gzip that is not named", .said(once), nil, once),
            coded("identity", .right, "identity", plain),
            coded("an empty name", .either, "", plain),
            coded("gzip and something else behind it", .either, "gzip", once + plain),
            coded("gzip and a second stream", .said(plain + plain), "gzip", once + once),
            coded("gzip and zeros", .either, "gzip", once + [UInt8](repeating: 0, count: 512)),
            coded("a bomb", .error, "gzip", Gzip.header + Gzip.zeros),
        ]
        lies += ["br", "zstd", "deflate", "compress", "gzip;q=1", "gzip br", "\u{1}"].map {
            coded("Content-Encoding: \($0.debugDescription)", .error, $0, plain)
        }
        lies += once.indices.map { index in
            var damaged = once
            damaged[index] ^= 0x55
            // The flags, time, level and system in the header do not describe the content.
            return coded("gzip with byte \(index) damaged", (3...9).contains(index) ? .either : .error, "gzip", damaged)
        }
        return lies
    }()

    private static let trailing: [Lie] = {
        let forged = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n\(evil)"
        let firsts = [
            ("behind a body", "\(whole)\(forged)"),
            ("behind a body, in pieces", "\(whole)\(forged.prefix(10))"),
            (
                "behind chunks",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1d\r\n\(truth)\r\n0\r\n\r\n\(forged)"
            ),
            ("behind nothing newer", "HTTP/1.1 204 No Content\r\n\r\n\(forged)"),
            ("behind not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n\(forged)"),
            ("behind an empty body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n\(forged)"),
            ("behind an error", "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno\(forged)"),
            ("behind a redirect", "HTTP/1.1 302 Found\r\nLocation: ?\r\nContent-Length: 0\r\n\r\n\(forged)"),
            ("line ends behind a body", "\(whole)\r\n\r\n"),
            ("noise behind a body", "\(whole)\u{0}\u{1}\u{2}"),
        ]
        return firsts.map { name, first in
            Lie(name, .either, [[text(first), .keepAlive], [text(whole), .keepAlive]], asking: .two)
        }
    }()

    private static let ranges: [Lie] = {
        let rest = String(truth.dropFirst(10))
        func part(_ fields: String, _ body: String? = nil, status: String = "206 Partial Content") -> String {
            let body = body ?? rest
            return
                "HTTP/1.1 \(status)\r\n\(close)ETag: \"one\"\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
        }
        func range(_ value: String) -> String { "Content-Range: \(value)\r\n" }
        /// A download that resumes after ten bytes.
        func resumed(_ name: String, _ outcome: Outcome, _ answer: String) -> Lie {
            Lie(name, outcome, answer, asking: .download(held: 10))
        }
        let last = length - 1
        let good = range("bytes 10-\(last)/\(length)")
        let all = part(range("bytes 0-\(last)/\(length)"), truth)
        let parts = part("Content-Type: multipart/byteranges; boundary=b\r\n")
        var lies = [
            Lie("a part that was not asked for", .error, part(good), asking: .download(held: 0)),
            Lie("all of it as a part", .either, all, asking: .download(held: 0)),
            resumed("the right part", .right, part(good)),
            resumed("all of it", .right, part("", truth, status: "200 OK")),
            resumed("no range", .error, part("")),
            resumed("parts in one body", .error, parts),
            resumed("another state, with the right bytes", .right, part(good).replacing("one", with: "two")),
            resumed("no such range", .error, part(range("bytes */\(length)"), "", status: "416 Range Not Satisfiable")),
            resumed("a part of a part", .error, part(good, String(rest.dropLast()))),
            resumed("a compressed part", .either, part(good + "Content-Encoding: gzip\r\n")),
            resumed("a part of unknown length", .either, part(range("bytes 10-\(last)/*"))),
        ]
        let wrong = [
            "bytes 0-\(last)/\(length)", "bytes 9-\(last)/\(length)", "bytes 11-\(last)/\(length)",
            "bytes 10-\(last - 1)/\(length)", "bytes 10-\(last + 1)/\(length)", "bytes 10-\(last)/\(length + 1)",
            "bytes 10-\(last)/\(length - 1)", "bytes 10-9/\(length)", "bytes \(last)-10/\(length)",
            "bytes 10-/\(length)", "bytes -\(last)/\(length)", "bytes */\(length)", "bytes 10-\(last)",
            "10-\(last)/\(length)", "pages 10-\(last)/\(length)", "bytes=10-\(last)/\(length)", "bytes 10-\(last)/-1",
            "bytes 10-\(last)/18446744073709551616", "bytes 18446744073709551626-\(last)/\(length)", "bytes", "",
        ]
        lies += wrong.map { resumed("a part with the range \($0.debugDescription)", .error, part(range($0))) }
        return lies
    }()

    private static let changes: [Lie] = {
        let old = Array("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n\(evil)".utf8)
        var lies = (0..<old.count).map { count in
            Lie(
                "another document, cut after \(count) bytes", .right,
                [[.bytes(Array(old[..<count]))], [text(whole)]], tries: 2)
        }
        func file(_ etag: String, _ body: String, from start: Int = 0, fields: String = "") -> Part {
            let status = start == 0 ? "200 OK" : "206 Partial Content"
            let range = start == 0 ? "" : "Content-Range: bytes \(start)-\(length - 1)/\(length)\r\n"
            let sizes = "Content-Length: \(length - start)\r\n\(range)"
            return text("HTTP/1.1 \(status)\r\nETag: \"\(etag)\"\r\n\(sizes)\(fields)\r\n\(body)")
        }
        /// A response to the next attempt of an interrupted download.
        func next(_ name: String, _ outcome: Outcome, _ answer: Part) -> Lie {
            let cut = file("one", String(evil.prefix(10)))
            return Lie(name, outcome, [[cut], [answer]], asking: .download(held: 0), tries: 2)
        }
        lies += [
            next("another file, sent whole", .right, file("two", truth)),
            next("another file, of which a part is sent", .error, file("two", String(truth.dropFirst(10)), from: 10)),
            next(
                "another file, of which other parts are sent", .error, file("one", String(truth.dropFirst(5)), from: 5)),
            // If the connection were kept open, the excess bytes would begin the response to another lie.
            next("another length at the next try", .either, file("two", truth + truth, fields: close)),
            next("an error at the next try", .error, text("HTTP/1.1 404 No\r\n\r\n")),
        ]
        return lies
    }()

    private static let heads: [Lie] = {
        let lines = [
            "HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.0 200 OK", "http/1.1 200 OK", "HTTP/1.1  200 OK",
            "HTTP/1.1 +200 OK",
            "HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2OO OK", "HTTP/1.1", "HTTP/2.0 200 OK", "HTTP/9.9 200 OK",
            "HTTP/1.999999999999999999999 200 OK", "ICY 200 OK", "200 OK", "\u{0}", "HTTP/1.1 200 \u{0}",
            "HTTP/1.1 200 \(String(repeating: "x", count: 200_000))", "HTTP/1.1\t200\tOK", "SSH-2.0-OpenSSH_9", "",
        ]
        var lies = lines.map { line in
            Lie(
                "the status line \(line.prefix(40).debugDescription)", .either,
                "\(line)\r\n\(close)Content-Length: \(length)\r\n\r\n\(truth)")
        }
        let fields = [
            "No colon", ": no name", "Spaced : yes", " Folded", "X: \u{0}", "X: a\rb", "X\u{0}: y", "\u{E9}: y",
            "X: \u{E9}", "X:", "X", "X: \(String(repeating: "x", count: 200_000))", "Content-Encoding",
            "Location: /elsewhere", "Connection: Upgrade\r\nUpgrade: h2c", "Set-Cookie: a=b", "Retry-After: -1",
            "Retry-After: 99999999999999999999", "Backoff: -1", "Backoff: 99999999999999999999", "Backoff: NaN",
            "Alert: {", "Date: never", "Strict-Transport-Security: max-age=99999999",
            "Alt-Svc: h2=\"host.invalid:443\"",
        ]
        lies += fields.map {
            Lie(
                "the field \($0.prefix(40).debugDescription)", .either, answer("\($0)\r\nContent-Length: \(length)\r\n")
            )
        }
        lies += [
            Lie("no field", .right, "HTTP/1.1 200 OK\r\n\r\n\(truth)"),
            Lie("line feeds only", .either, "HTTP/1.1 200 OK\nContent-Length: \(length)\n\n\(truth)"),
            Lie("a carriage return only", .error, "HTTP/1.1 200 OK\rContent-Length: \(length)\r\r\(truth)"),
            Lie("the body alone", .error, truth),
            Lie("nothing", .error, ""),
            Lie("one byte", .error, "H"),
            Lie("a TLS alert", .error, "\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\u{28}"),
            Lie("early hints before it", .right, "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n\(whole)"),
            Lie(
                "a hundred interim answers", .either,
                String(repeating: "HTTP/1.1 103 Hints\r\n\r\n", count: 100) + whole),
            Lie("interim answers only", .error, String(repeating: "HTTP/1.1 103 Hints\r\n\r\n", count: 10)),
            Lie(
                "another protocol", .error,
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n\(truth)"),
            Lie("a thousand fields", .either, answer(String(repeating: "X-Y: z\r\n", count: 1000))),
            Lie("a million fields", .error, answer(String(repeating: "X-Y: z\r\n", count: 1_000_000))),
        ]
        return lies
    }()
}
