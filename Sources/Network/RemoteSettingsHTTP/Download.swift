import RemoteSettingsModel
import SnapshotBundle

/// A part of a download. The receiver gets all parts in order.
package enum DownloadPart: Sendable, Hashable {
    /// The offset in the file of the bytes that follow. This part comes first, and again whenever the transfer was
    /// resumed.
    ///
    /// After a resumption, the offset is the number of bytes received so far, or 0 if the file is sent again from its
    /// beginning. The receiver must then discard all bytes that it has.
    case start(Int)
    case bytes([UInt8])
}

/// The beginning of a file that an earlier download received.
package struct ResumePoint: Sendable {
    let offset: Int
    let hasher: ContentHasher

    /// Creates a resume point.
    ///
    /// - Parameters:
    ///   - offset: the number of bytes that the receiver has.
    ///   - hasher: a hasher that has consumed these bytes.
    package init(offset: Int, hasher: ContentHasher) {
        self.offset = offset
        self.hasher = hasher
    }
}

/// The state of one download. It interprets each response (RFC 9110 §14).
///
/// **Only the size and hash in the record decide which bytes are the right file.** A server or a CDN may compress a
/// file although the request forbids it, and a transport may decompress a file that is compressed by design. So if a
/// response gives wrong bytes, and there is another way to read the file, the download requests it once more and reads
/// it in that way.
struct Transfer {
    /// How to read the file from a response.
    private enum Way {
        /// The rest of a file, after bytes from an earlier response.
        case part
        /// The bytes of the response as sent, even if it has a `Content-Encoding`.
        case asSent
        /// The bytes of the response after its `Content-Encoding` is decoded.
        case decoded
    }

    let url: HTTPURL
    /// The size and hash in the record; `nil` for a file without a record.
    let expected: (size: Int, digest: SHA256Digest)?
    /// The largest size of the whole file in bytes.
    let limit: Int
    /// The number of bytes that the receiver has.
    private(set) var offset = 0
    /// The client's older version of the file, from which the server may compute a delta; `nil` to accept no delta.
    private(set) var held: HeldFile?
    /// Whether the last request accepted a delta. If so, the response may be a delta even without a `Content-Encoding`,
    /// because a proxy may have removed that header.
    private var acceptedDelta = false
    private var hasher = ContentHasher()
    private var validator: String?
    /// The way in which the last response is read.
    private var way = Way.asSent
    /// The alternative way to read the last response.
    private var other: Way?
    /// The ways that have produced wrong bytes.
    private var wrong: [Way] = []
    /// The value of the last response's `Content-Encoding`; empty if there is none.
    private var coding = ""

    init(
        url: HTTPURL, expected: (size: Int, digest: SHA256Digest)?, limit: Int, resume: ResumePoint?, held: HeldFile?
    ) {
        self.url = url
        self.expected = expected
        self.limit = limit
        if let resume, resume.offset > 0, resume.offset <= limit {
            (offset, hasher) = (resume.offset, resume.hasher)
        } else {
            self.held = held
        }
    }

    /// Prepares the next request.
    ///
    /// - Returns: its headers. They accept no compression except a delta, because most files are already compressed.
    mutating func nextHeaders() -> [HTTPHeaders.Field] {
        // A range of a coded response counts the coded bytes, so a decoded file cannot be resumed.
        if way == .decoded || wrong.contains(.part) { restart() }
        (way, other, coding) = (.asSent, nil, "")
        acceptedDelta = held != nil
        if let held { return held.headers }
        var fields = [HTTPHeaders.Field("Accept-Encoding", "identity")]
        if offset > 0 {
            fields.append(.init("Range", "bytes=\(offset)-"))
            if let validator { fields.append(.init("If-Range", validator)) }
        }
        return fields
    }

    /// Starts again from the first byte and reads the file in another way, if one is left after `error`.
    ///
    /// - Returns: whether there is another way. Each way is tried at most once, so a download always finishes.
    mutating func takeOtherWay(after error: Failure) -> Bool {
        switch error.code {
        case .content: break
        // A server that cannot send the delta may also respond with an error.
        case .status, .redirect: guard acceptedDelta, !error.isRetryable else { return false }
        default: return false
        }
        if !acceptedDelta {
            wrong.append(way)
            guard way == .part || other.map({ !wrong.contains($0) }) == true else { return false }
        }
        held = nil
        restart()
        return true
    }

    /// Returns the error to throw for a failed download. It adds the response's coding to the message.
    func final(_ error: Failure) -> Failure {
        guard !coding.isEmpty else { return error }
        let name = VisibleText.excerpt(coding, limit: 40)
        // A transport that decodes bodies may report a body that it cannot decode as a broken connection.
        if error.code == .broken {
            return Failure(error.place, .init(.broken, "\(error.problem) (with the Content-Encoding \(name))"))
        }
        guard error.code == .content else { return error }
        let found =
            other != nil
            ? "the body does not match the record, neither as sent nor decoded"
            : way == .decoded
                ? "the decoded body does not match the record" : "the body as sent does not match the record"
        return Failure(error.place, .init(.content, "with the Content-Encoding \(name), \(found): \(error.problem)"))
    }

    private mutating func restart() {
        (offset, hasher, validator) = (0, ContentHasher(), nil)
    }

    /// Reads the head of a response with the status 200, 206 or 416, and decodes its body if necessary.
    ///
    /// - Returns: the announced sizes of this response's body and of the whole file in bytes; `nil` for an unknown
    ///   size. With 416, the file is already complete.
    mutating func begin(_ answer: inout Answer) throws(Failure) -> (body: Int?, file: Int?) {
        coding = answer.encoding
        let range = answer.response.headers["Content-Range"].flatMap { ContentRange($0) }
        switch answer.response.status {
        case 416:
            way = .part
            guard let size = range?.size, range?.range == nil, size == offset else {
                throw Failure(answer.url, .badRange("the server has no bytes at the requested offset"))
            }
            return (0, size)
        case 206: return try beginPart(answer, range)
        default: return try beginWhole(&answer)
        }
    }

    private mutating func beginWhole(_ answer: inout Answer) throws(Failure) -> (body: Int?, file: Int?) {
        restart()
        held = nil
        if !coding.isEmpty {
            let ways = ways(of: answer)
            guard let next = ways.first(where: { !wrong.contains($0) }) else {
                throw Failure(
                    answer.url, .badEncoding("the body does not match the record, neither as sent nor decoded"))
            }
            (way, other) = (next, ways.first { $0 != next })
        }
        if way == .decoded {
            if !answer.response.isDecoded { answer.response.body = try GzipBody(answer.response.body, url: answer.url) }
            return (nil, nil)
        }
        if let announced = answer.contentLength, announced > limit {
            throw Failure(answer.url, .tooLarge(limit: limit))
        }
        validator = Self.validator(of: answer.response.headers)
        return (answer.contentLength, answer.contentLength)
    }

    /// Returns the ways in which a coded response can be read, the more likely one first.
    private func ways(of answer: Answer) -> [Way] {
        if answer.response.isDecoded { return [.decoded] }
        guard answer.isGzip else { return [.asSent] }
        // Without an expected hash, there is no way to find out which one is right.
        guard let expected else { return [.decoded] }
        return answer.contentLength == expected.size ? [.asSent, .decoded] : [.decoded, .asSent]
    }

    private mutating func beginPart(
        _ answer: Answer, _ contentRange: ContentRange?
    ) throws(Failure) -> (body: Int?, file: Int?) {
        func refuse(_ why: String) -> Failure { Failure(answer.url, .badRange(why)) }
        guard offset > 0 else { throw refuse("the server sent a part, but the whole file was requested") }
        guard coding.isEmpty || !answer.response.isDecoded else {
            way = .part
            throw refuse("the transport decoded a part of the encoded bytes")
        }
        guard let contentRange, let range = contentRange.range else { throw refuse("it has no valid Content-Range") }
        guard range.lowerBound == offset else { throw refuse("it starts at byte \(range.lowerBound), not \(offset)") }
        guard range.upperBound < limit, contentRange.size ?? 0 <= limit else {
            throw Failure(answer.url, .tooLarge(limit: limit))
        }
        if let length = answer.contentLength, length != range.count {
            throw refuse("the Content-Length is \(length), but the range is \(range.count) bytes")
        }
        let served = Self.validator(of: answer.response.headers)
        if let validator, let served, served != validator, validator.hasPrefix("\"") == served.hasPrefix("\"") {
            throw refuse("it is from a different version of the file")
        }
        validator = validator ?? served
        way = .part
        return (range.count, contentRange.size)
    }

    /// Checks and hashes the next bytes before the receiver gets them.
    ///
    /// - Parameter received: the number of bytes of this response's body so far, including these.
    mutating func take(_ piece: [UInt8], received: Int, of length: Int?, in answer: Answer) throws(Failure) {
        if let length, received > length {
            throw Failure(answer.url, .badRange("it is longer than the announced \(length) bytes"))
        }
        guard piece.count <= limit - offset else { throw Failure(answer.url, .tooLarge(limit: limit)) }
        hasher.update(piece.span)
        offset += piece.count
    }

    /// Checks that the size and hash of the whole file match the record.
    func checkWhole(_ answer: Answer) throws(Failure) {
        guard let expected else { return }
        let digest = hasher.finish()
        guard offset != expected.size || digest != expected.digest else { return }
        let found = offset == expected.size ? "SHA-256 \(digest)" : "\(offset) bytes"
        throw Failure(
            answer.url,
            .init(
                .content,
                "expected \(expected.size) bytes with SHA-256 \(expected.digest), as in the record, "
                    + "found \(found); try again later"))
    }

    /// Returns a strong `ETag`, or else `Last-Modified`. Only these are allowed in `If-Range` (RFC 9110 §13.1.5).
    private static func validator(of headers: HTTPHeaders) -> String? {
        if let tag = headers["ETag"], tag.hasPrefix("\""), tag.utf8.count <= 256, isFieldValue(tag) { return tag }
        return headers["Last-Modified"].flatMap { $0.utf8.count <= 64 && isFieldValue($0) ? $0 : nil }
    }

    private static func isFieldValue(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}

/// The `Content-Range` header of a response (RFC 9110 §14.4), in the unit `bytes`.
struct ContentRange: Hashable {
    /// The range; `nil` in the form `bytes */1234`, which means that the requested range does not exist.
    var range: ClosedRange<Int>?
    /// The size of the whole file in bytes; `nil` if the server does not state it.
    var size: Int?

    init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if parts[1] != "*" {
            guard let size = Self.number(parts[1]) else { return nil }
            self.size = size
        }
        if parts[0] != "*" {
            let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
                last < size ?? .max
            else { return nil }
            range = first...last
        } else if size == nil {
            return nil
        }
    }

    static func number(_ text: some StringProtocol) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }
}
