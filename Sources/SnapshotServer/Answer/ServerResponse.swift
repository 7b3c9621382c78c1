import NIOCore
import SnapshotOrigin

/// An answer, ready to be written.
struct ServerResponse: Sendable {
    enum Body: Sendable {
        case none
        /// All of it, in buffers that are kept for the next one who asks.
        case buffers([ByteBuffer])
        /// A part of the content, made into buffers while it is written.
        case pieces(OriginResource.Content, Range<Int>)
    }

    var status: Int
    var route: ServerRoute
    var head: ByteBuffer
    var body: Body
    /// Of the body, in bytes.
    var length: Int

    /// The body, where it is so small that copying it costs less than a write of its own.
    var smallBody: ByteBuffer? {
        switch body {
        case .none: ByteBuffer()
        case .buffers(let buffers) where buffers.count == 1 && length <= 16 << 10: buffers[0]
        case .buffers, .pieces: nil
        }
    }

    /// For `HEAD`: the same head, no body.
    func withoutBody() -> ServerResponse {
        var response = self
        response.body = .none
        response.length = 0
        return response
    }
}

/// What a request was about, for counting: a bounded set.
enum ServerRoute: Hashable, Sendable {
    case origin(OriginRoute)
    case metrics
    case page
    case refused

    var name: String {
        switch self {
        case .origin(let route): route.rawValue
        case .metrics: "metrics"
        case .page: "page"
        case .refused: "refused"
        }
    }

    static let all: [ServerRoute] = OriginRoute.allCases.map { .origin($0) } + [.metrics, .page, .refused]
}
