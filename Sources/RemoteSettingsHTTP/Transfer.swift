/// How far a download has come, and what an answer to it means (RFC 9110 §14).
struct Transfer {
    let url: HTTPURL
    /// In bytes, of the whole file.
    let limit: Int
    /// How many bytes the receiver has.
    var offset: Int
    var validator: String?

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
        /// There is nothing to come: the receiver has all of it.
        case alreadyWhole(DownloadStart)
        /// - expected: how many bytes this answer's body has; `nil` where it does not say.
        case bytes(DownloadStart, expected: Int?)
    }

    /// Ranges and hashes hold for the file as it is, so that no compression is asked for.
    var headers: [HTTPHeaders.Field] {
        var fields = [HTTPHeaders.Field("Accept-Encoding", "identity")]
        if offset > 0 {
            fields.append(.init("Range", "bytes=\(offset)-"))
            if let validator { fields.append(.init("If-Range", validator)) }
        }
        return fields
    }

    /// Takes in the head of an answer to ``headers``: 200, 206 or 416.
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
            // The offset in a decompressed body says nothing about the file that a range would be taken from.
            validator = answer.isCompressed ? nil : Self.validator(of: answer.response.headers)
            return .bytes(DownloadStart(offset: 0, size: length, validator: validator), expected: length)
        }
    }

    private mutating func beginPart(_ answer: Answer, _ contentRange: ContentRange?) throws(HTTPError) -> Beginning {
        func refuse(_ why: String) -> HTTPError { HTTPError(answer.url, .badRange(why)) }
        guard offset > 0 else { throw refuse("a part, though the whole file was asked for") }
        guard !answer.isCompressed else { throw refuse("a part of a compressed form") }
        guard let contentRange, let range = contentRange.range else {
            throw refuse("no usable Content-Range")
        }
        guard range.lowerBound == offset else {
            throw refuse("it starts at byte \(range.lowerBound), \(offset) was asked for")
        }
        guard range.upperBound < limit, contentRange.size ?? 0 <= limit else {
            throw HTTPError(answer.url, .tooLarge(limit: limit))
        }
        if let length = answer.contentLength, length != range.count {
            throw refuse("a Content-Length of \(length) for a range of \(range.count) bytes")
        }
        let served = Self.validator(of: answer.response.headers)
        if let validator, let served, served != validator, validator.hasPrefix("\"") == served.hasPrefix("\"") {
            throw refuse("it is of another version of the file")
        }
        validator = validator ?? served
        return .bytes(
            DownloadStart(offset: offset, size: contentRange.size, validator: validator), expected: range.count)
    }

    /// Checks the next `count` bytes before they are given to the receiver.
    ///
    /// - Parameter received: bytes of this answer's body so far, these included.
    func check(_ count: Int, received: Int, of expected: Int?, in answer: Answer) throws(HTTPError) {
        if let expected, received > expected {
            throw HTTPError(answer.url, .badRange("more bytes than the \(expected) announced"))
        }
        guard count <= limit - offset else { throw HTTPError(answer.url, .tooLarge(limit: limit)) }
    }

    /// A strong `ETag`, else `Last-Modified`; only these may stand in `If-Range` (RFC 9110 §13.1.5).
    private static func validator(of headers: HTTPHeaders) -> String? {
        if let tag = headers["ETag"], tag.hasPrefix("\""), tag.utf8.count <= 256, isFieldValue(tag) { return tag }
        return headers["Last-Modified"].flatMap { $0.utf8.count <= 64 && isFieldValue($0) ? $0 : nil }
    }

    private static func isFieldValue(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
