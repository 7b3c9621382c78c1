import Deflate

/// A body that arrives as gzip (RFC 1952), decompressed only as fast as it is read.
struct GzipBody: HTTPBody {
    private var wire: any HTTPBody
    private let url: HTTPURL
    private let stream: GzipStream
    private var received = 0

    init(_ wire: any HTTPBody, url: HTTPURL) throws(HTTPError) {
        do throws(InflateError) {
            stream = try GzipStream()
        } catch {
            throw HTTPError(url, .badEncoding("there is too little memory to decompress gzip"))
        }
        self.wire = wire
        self.url = url
    }

    mutating func next() async throws(HTTPError) -> [UInt8]? {
        while true {
            do {
                if let piece = try stream.next() {
                    received += piece.count
                    return piece
                }
            } catch {
                throw HTTPError(url, .badEncoding("the gzip data is damaged"))
            }
            guard let more = try await wire.next() else {
                guard stream.isAtEnd else { throw HTTPError(url, .truncated(expected: nil, received: received)) }
                return nil
            }
            stream.feed(more)
        }
    }
}
