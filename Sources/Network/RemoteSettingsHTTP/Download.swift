import RemoteSettingsModel
import SnapshotBundle

/// A part of a download. The receiver gets all parts in order.
package enum DownloadPart: Sendable, Hashable {
    /// The bytes that follow belong at this offset. It comes first, and again whenever the transfer was resumed.
    ///
    /// The new offset is the one that was reached. If it is 0, the receiver must discard everything that it has.
    case start(DownloadStart)
    case bytes([UInt8])
}

package struct DownloadStart: Sendable, Hashable {
    package let offset: Int
    /// The size of the whole file in bytes, as the server states it; `nil` if it does not.
    package let size: Int?
    /// A text that identifies this version of the file, for ``ResumePoint``; `nil` if the server sends neither a strong
    /// `ETag` nor `Last-Modified`.
    package let validator: String?

    package init(offset: Int, size: Int?, validator: String?) {
        self.offset = offset
        self.size = size
        self.validator = validator
    }
}

/// The place where an interrupted download resumes.
package struct ResumePoint: Sendable, Hashable {
    /// The number of bytes that the receiver has.
    package let offset: Int
    /// The ``DownloadStart/validator`` of these bytes. If the file has changed since, the download starts from 0.
    package let validator: String?

    package init(offset: Int, validator: String? = nil) {
        self.offset = offset
        self.validator = validator
    }
}

/// The progress of a download. It interprets each answer (RFC 9110 §14).
struct Transfer {
    let url: HTTPURL
    /// The largest size of the whole file in bytes.
    let limit: Int
    /// The number of bytes that the receiver has.
    var offset: Int
    var validator: String?
    /// The file that the server may send a delta to; `nil` if none is accepted.
    var held: HeldFile?
    /// Hashes a file that came without the coding of a delta, although a delta was accepted; `nil` for other files. A
    /// proxy may have dropped the header that names the coding.
    private var unconfirmed: (hasher: ContentHasher, expected: SHA256Digest)?

    init(url: HTTPURL, limit: Int, resume: ResumePoint?) {
        self.url = url
        self.limit = limit
        if let resume, resume.offset > 0, resume.offset <= limit {
            offset = resume.offset
            validator = resume.validator.flatMap { Self.isFieldValue($0) ? $0 : nil }
        } else {
            offset = 0
        }
    }

    enum Beginning {
        /// The receiver already has all bytes.
        case alreadyWhole(DownloadStart)
        /// - expected: the length of this answer's body in bytes; `nil` if the answer does not state it.
        case bytes(DownloadStart, expected: Int?)
    }

    /// The headers of the request. Ranges and hashes refer to the uncompressed file, so no compression except a delta
    /// is accepted.
    var headers: [HTTPHeaders.Field] {
        if let held { return held.headers }
        var fields = [HTTPHeaders.Field("Accept-Encoding", "identity")]
        if offset > 0 {
            fields.append(.init("Range", "bytes=\(offset)-"))
            if let validator { fields.append(.init("If-Range", validator)) }
        }
        return fields
    }

    /// Whether the answer depends on a delta having been accepted. The whole file may then still be usable.
    var acceptedDelta: Bool { held != nil || unconfirmed != nil }

    /// Starts again from the first byte, and accepts no delta.
    mutating func restartWithoutDelta() {
        (held, unconfirmed) = (nil, nil)
        (offset, validator) = (0, nil)
    }

    /// Reads the head of an answer to ``headers``, with the status 200, 206 or 416.
    mutating func begin(_ answer: Answer) throws(HTTPError) -> Beginning {
        let range = answer.response.headers["Content-Range"].flatMap { ContentRange($0) }
        switch answer.response.status {
        case 416:
            guard let size = range?.size, range?.range == nil, size == offset else {
                throw HTTPError(answer.url, .rangeNotSatisfied)
            }
            return .alreadyWhole(DownloadStart(offset: offset, size: size, validator: validator))
        case 206:
            return try beginPart(answer, range)
        default:
            try answer.checkEncoding()
            let length = answer.isCompressed ? nil : answer.contentLength
            if let announced = answer.contentLength, announced > limit {
                throw HTTPError(answer.url, .tooLarge(limit: limit))
            }
            offset = 0
            unconfirmed = (held?.newer ?? unconfirmed?.expected).map { (ContentHasher(), $0) }
            held = nil
            // Ranges refer to offsets in the file, and not in a decompressed body.
            validator = answer.isCompressed ? nil : Self.validator(of: answer.response.headers)
            return .bytes(DownloadStart(offset: 0, size: length, validator: validator), expected: length)
        }
    }

    private mutating func beginPart(_ answer: Answer, _ contentRange: ContentRange?) throws(HTTPError) -> Beginning {
        func refuse(_ why: String) -> HTTPError { HTTPError(answer.url, .badRange(why)) }
        guard offset > 0 else { throw refuse("found a part, expected the whole file") }
        guard !answer.isCompressed else { throw refuse("found a part of compressed data") }
        guard let contentRange, let range = contentRange.range else {
            throw refuse("found no valid Content-Range")
        }
        guard range.lowerBound == offset else {
            throw refuse("it starts at byte \(range.lowerBound), expected \(offset)")
        }
        guard range.upperBound < limit, contentRange.size ?? 0 <= limit else {
            throw HTTPError(answer.url, .tooLarge(limit: limit))
        }
        if let length = answer.contentLength, length != range.count {
            throw refuse("found a Content-Length of \(length) for a range of \(range.count) bytes")
        }
        let served = Self.validator(of: answer.response.headers)
        if let validator, let served, served != validator, validator.hasPrefix("\"") == served.hasPrefix("\"") {
            throw refuse("it belongs to another version of the file")
        }
        validator = validator ?? served
        return .bytes(
            DownloadStart(offset: offset, size: contentRange.size, validator: validator), expected: range.count)
    }

    /// Checks the next bytes before the receiver gets them.
    ///
    /// - Parameter received: the number of bytes of this answer's body so far, including these.
    mutating func check(_ piece: [UInt8], received: Int, of expected: Int?, in answer: Answer) throws(HTTPError) {
        if let expected, received > expected {
            throw HTTPError(answer.url, .badRange("more than the announced \(expected) bytes"))
        }
        guard piece.count <= limit - offset else { throw HTTPError(answer.url, .tooLarge(limit: limit)) }
        unconfirmed?.hasher.update(piece.span)
    }

    /// Checks the whole file if it may be a delta without the name of its coding.
    func checkWhole(_ answer: Answer) throws(HTTPError) {
        guard let unconfirmed, unconfirmed.hasher.finish() != unconfirmed.expected else { return }
        throw HTTPError(answer.url, .badEncoding("it has another SHA-256 than the record states"))
    }

    /// A strong `ETag`, otherwise `Last-Modified`. Only these are allowed in `If-Range` (RFC 9110 §13.1.5).
    private static func validator(of headers: HTTPHeaders) -> String? {
        if let tag = headers["ETag"], tag.hasPrefix("\""), tag.utf8.count <= 256, isFieldValue(tag) { return tag }
        return headers["Last-Modified"].flatMap { $0.utf8.count <= 64 && isFieldValue($0) ? $0 : nil }
    }

    private static func isFieldValue(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}

/// The `Content-Range` of an answer (RFC 9110 §14.4) in the unit `bytes`.
struct ContentRange: Hashable {
    /// The range; `nil` in the form `bytes */1234`, which says that there is no such range.
    var range: ClosedRange<Int>?
    /// The size of the whole file in bytes; `nil` if the server does not know it.
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
