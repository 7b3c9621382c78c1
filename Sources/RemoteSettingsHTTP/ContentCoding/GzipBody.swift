/// A body that arrives as gzip (RFC 1952), decompressed only as fast as it is read.
struct GzipBody: HTTPBody {
    private var wire: any HTTPBody
    private let url: HTTPURL
    private let stream: GzipStream
    private var received = 0

    init(_ wire: any HTTPBody, url: HTTPURL) throws(HTTPError) {
        guard let stream = GzipStream() else {
            throw HTTPError(url, .badEncoding("zlib could not be started"))
        }
        self.wire = wire
        self.url = url
        self.stream = stream
    }

    mutating func next() async throws(HTTPError) -> [UInt8]? {
        while true {
            do {
                if let piece = try stream.next() {
                    received += piece.count
                    return piece
                }
            } catch {
                throw HTTPError(url, .badEncoding("\(error)"))
            }
            guard let more = try await wire.next() else {
                guard stream.isAtEnd else { throw HTTPError(url, .truncated(expected: nil, received: received)) }
                return nil
            }
            stream.feed(more)
        }
    }
}
