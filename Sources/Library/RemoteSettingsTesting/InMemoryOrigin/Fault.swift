import RemoteSettingsHTTP
import RemoteSettingsModel

/// A fault in some of the responses of an ``OriginTransport``.
public struct Fault: Sendable {
    /// The effect of the fault on a response.
    ///
    /// Open: a later version may add cases, so a `switch` needs a `default`.
    public enum Effect: Sendable {
        /// Sends this status instead of the response, with an empty JSON object as the body.
        case status(Int)
        /// Sends 200 with this body instead of the response.
        case body(String)
        /// Sends 200 with these bytes instead of the response.
        case bytes([UInt8])
        /// Redirects to the requested URL itself.
        case redirectLoop
        /// Sends an endless body of spaces.
        case endless
        /// Sends 200 with a small body, encoded with gzip, that decompresses to this many bytes, rounded down to MiB.
        case gzipBomb(Int)
        /// Changes the first byte of the body.
        case corrupted
        /// Drops the connection after this many bytes of the body.
        case truncated(Int)
        /// Makes the server unreachable.
        case unreachable
        /// Sends the response unchanged, for faults that only delay it or add headers.
        case none
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
        switch effect {
        case .status(let status): .init(status: status, body: Array("{}".utf8))
        case .body(let text): .init(status: 200, body: Array(text.utf8))
        case .bytes(let bytes): .init(status: 200, body: bytes)
        case .redirectLoop: .init(status: 302, headers: HTTPHeaders([.init("Location", "\(url)")]))
        case .endless: .init(status: 200)
        case .gzipBomb(let size):
            .init(
                status: 200, headers: HTTPHeaders([.init("Content-Encoding", "gzip")]),
                body: Self.compressedSpaces(size >> 20))
        case .corrupted, .truncated, .unreachable, .none: nil
        }
    }
}

extension Fault {
    private static func compressedSpaces(_ mebibytes: Int) -> [UInt8] {
        let spaces = Bytes([UInt8](repeating: UInt8(ascii: " "), count: 1 << 20))
        return GzipMember.compress(Array(repeating: spaces, count: max(0, mebibytes)), level: 9)?.array ?? []
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
        switch fault?.effect {
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
