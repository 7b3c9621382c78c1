import RemoteSettingsHTTP
import RemoteSettingsModel

/// A fault in some of the responses of an ``OriginTransport``.
public struct Fault: Sendable {
    /// The effect of the fault on a response.
    public struct Effect: Sendable {
        enum Kind: Sendable {
            case reply(OriginTransport.Reply), redirectLoop, endless, corrupted, truncated(Int), unreachable, none
        }

        let kind: Kind

        /// Sends this status instead of the response, with an empty JSON object as the body.
        public static func status(_ status: Int) -> Self { .reply(.init(status: status, body: Array("{}".utf8))) }
        /// Sends 200 with this body instead of the response.
        public static func body(_ text: String) -> Self { .bytes(Array(text.utf8)) }
        /// Sends 200 with these bytes instead of the response.
        public static func bytes(_ bytes: [UInt8]) -> Self { .reply(.init(status: 200, body: bytes)) }
        /// Changes the first byte of the body.
        public static let corrupted = Self(kind: .corrupted)
        /// Drops the connection after this many bytes of the body.
        public static func truncated(_ bytes: Int) -> Self { Self(kind: .truncated(bytes)) }
        /// Makes the server unreachable.
        public static let unreachable = Self(kind: .unreachable)
        /// Sends the response unchanged, for faults that only delay it or add headers.
        public static let none = Self(kind: .none)
        /// Redirects to the requested URL itself.
        package static let redirectLoop = Self(kind: .redirectLoop)
        /// Sends an endless body of spaces.
        package static let endless = Self(kind: .endless)
        /// Sends 200 with a small body, encoded with gzip, that decompresses to this many bytes, rounded down to MiB.
        package static func gzipBomb(_ size: Int) -> Self {
            let spaces = Bytes([UInt8](repeating: UInt8(ascii: " "), count: 1 << 20))
            let bomb = GzipMember.compress(Array(repeating: spaces, count: max(0, size >> 20)), level: 9)?.array ?? []
            return .reply(.init(status: 200, headers: HTTPHeaders([.init("Content-Encoding", "gzip")]), body: bomb))
        }

        private static func reply(_ reply: OriginTransport.Reply) -> Self { Self(kind: .reply(reply)) }
    }

    let texts: [String]
    let effect: Effect
    let headers: [HTTPHeaders.Field]
    let delay: Duration?
    var timesLeft: Int

    /// Creates a fault.
    ///
    /// - Parameters:
    ///   - texts: the strings that the path and query of a request must all contain.
    ///   - effect: the effect on the response.
    ///   - headers: the header fields to add to the response.
    ///   - delay: the delay before the head of the response.
    ///   - times: the number of matching requests that get this fault.
    public init(
        _ texts: String..., effect: Effect = .none, headers: [String: String] = [:], delay: Duration? = nil,
        times: Int = .max
    ) {
        self.texts = texts
        self.effect = effect
        self.headers = headers.sorted { $0.key < $1.key }.map { HTTPHeaders.Field($0.key, $0.value) }
        self.delay = delay
        timesLeft = times
    }

    func fits(_ target: String) -> Bool { timesLeft > 0 && texts.allSatisfy { target.contains($0) } }

    /// Returns the response that replaces the server's; `nil` if the server's response is used.
    func ownReply(to url: HTTPURL) -> OriginTransport.Reply? {
        switch effect.kind {
        case .reply(let reply): reply
        case .redirectLoop: .init(status: 302, headers: HTTPHeaders([.init("Location", "\(url)")]))
        case .endless: .init(status: 200)
        case .corrupted, .truncated, .unreachable, .none: nil
        }
    }
}

/// A body that arrives in pieces and that a fault may change.
struct ReplyBody: HTTPBody {
    let url: HTTPURL
    private var pieces: [[UInt8]]
    /// Whether spaces follow the pieces without end.
    private var isEndless = false
    /// The error thrown after the last byte; `nil` if the body is complete.
    private var failure: Failure?

    private static let pieceSize = 1 << 16

    /// The number of bytes; `Int.max` for an endless body.
    var size: Int {
        isEndless ? .max : pieces.reduce(0) { $0 + $1.count }
    }

    init(_ bytes: [UInt8], of url: HTTPURL, _ fault: Fault?) {
        self.url = url
        var bytes = bytes
        switch fault?.effect.kind {
        case .corrupted where !bytes.isEmpty: bytes[0] ^= 1
        case .truncated(let count) where count < bytes.count:
            failure = Failure(url, .truncated(expected: bytes.count, received: count))
            bytes.removeLast(bytes.count - count)
        case .endless: isEndless = true
        default: break
        }
        pieces = stride(from: 0, to: bytes.count, by: Self.pieceSize).map { start in
            Array(bytes[start..<min(bytes.count, start + Self.pieceSize)])
        }
        pieces.reverse()
    }

    mutating func next() async throws(Failure) -> [UInt8]? {
        await Task.yield()
        if Task.isCancelled { throw Failure(url, .cancelled) }
        if let piece = pieces.popLast() { return piece }
        if let failure { throw failure }
        return isEndless ? [UInt8](repeating: UInt8(ascii: " "), count: Self.pieceSize) : nil
    }
}
