import RemoteSettingsModel

extension HTTPResponse {
    /// Returns the response with a decompressed body if the body is gzip and `request` accepts gzip. Does no I/O.
    ///
    /// The headers remain as the server sent them (RFC 9110 §8.4).
    ///
    /// - Throws: ``Failure`` with `badEncoding` if there is not enough memory for zlib.
    func decoded(for request: HTTPRequest) throws(Failure) -> HTTPResponse {
        guard !isDecoded, headers.saysGzip, request.acceptsGzip else { return self }
        let decoded = try GzipBody(body, url: request.url)
        return HTTPResponse(status: status, headers: headers, body: decoded, isDecoded: true)
    }
}

extension HTTPRequest {
    fileprivate var acceptsGzip: Bool {
        let codings = headers["Accept-Encoding"]?.lowercased().split { $0 == "," || $0 == ";" || $0 == " " }
        return codings?.contains("gzip") ?? false
    }
}

extension HTTPHeaders {
    fileprivate var saysGzip: Bool {
        let encoding = self["Content-Encoding"]?.lowercased()
        return encoding == "gzip" || encoding == "x-gzip"
    }
}

/// A gzip body (RFC 1952) that is decompressed only as fast as it is read.
struct GzipBody: HTTPBody {
    private var wire: any HTTPBody
    private let url: HTTPURL
    private let stream: GzipStream
    private var received = 0

    init(_ wire: any HTTPBody, url: HTTPURL) throws(Failure) {
        stream = try mapFailure(of: try GzipStream()) { _ in
            Failure(url, .badEncoding("there is not enough memory to decompress gzip"))
        }
        self.wire = wire
        self.url = url
    }

    mutating func next() async throws(Failure) -> [UInt8]? {
        while true {
            do {
                if let piece = try stream.next() {
                    received += piece.count
                    return piece
                }
            } catch {
                throw Failure(url, .badEncoding("the gzip data is damaged"))
            }
            guard let more = try await wire.next() else {
                guard stream.isAtEnd else { throw Failure(url, .truncated(expected: nil, received: received)) }
                return nil
            }
            stream.feed(more)
        }
    }
}
