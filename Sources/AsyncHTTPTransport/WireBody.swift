import AsyncHTTPClient
import NIOCore
import RemoteSettingsHTTP

/// The body of an answer as it comes off the wire.
struct WireBody: HTTPBody {
    private var iterator: HTTPClientResponse.Body.AsyncIterator
    private let announced: Int?
    private let failure: FailureTranslation
    private var received = 0

    init(_ body: HTTPClientResponse.Body, announced: Int?, failure: FailureTranslation) {
        iterator = body.makeAsyncIterator()
        self.announced = announced
        self.failure = failure
    }

    mutating func next() async throws(HTTPError) -> [UInt8]? {
        do {
            while let buffer = try await iterator.next() {
                guard buffer.readableBytes > 0 else { continue }
                received += buffer.readableBytes
                return Array(buffer.readableBytesView)
            }
        } catch {
            throw failure.inBody(error, announced: announced, received: received)
        }
        // A cancelled reader is told of the end as if the body were whole.
        if Task.isCancelled { throw failure.error(.cancelled) }
        return nil
    }
}
