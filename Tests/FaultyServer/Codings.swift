import RemoteSettingsHTTP
import RemoteSettingsModel

/// A way in which a server, or a CDN in front of it, sends an attachment, and the expected outcome.
///
/// The table is the same for all transports. All responses ignore that the client does not accept compression.
package struct Coding: Sendable, CustomStringConvertible {
    /// The bytes sent, or those that the record describes.
    enum Body: String {
        case plain
        /// `plain`, compressed with gzip.
        case packed
        /// `packed`, compressed with gzip again.
        case packedTwice
        /// Different bytes of the same length as `plain`, compressed with gzip.
        case other

        static let bytes: [Body: [UInt8]] = {
            let packed = Gzip.compress(document)
            return [
                .plain: document, .packed: packed, .packedTwice: Gzip.compress(packed),
                .other: Gzip.compress(document.reversed()),
            ]
        }()

        var bytes: [UInt8] { Self.bytes[self] ?? [] }
    }

    enum Manner: String {
        case whole
        case chunked
        /// Half of it at first, and then the requested part.
        case breaks
        /// Half of it at first, and then all of it, whatever is requested.
        case breaksOnce
    }

    enum Outcome {
        case right
        /// Right if the transport returns the bytes as sent. If it has decoded them, the original may be lost.
        case rightAsSent
        case refused
        /// Right or refused: nested codings need not be supported.
        case either
    }

    package let description: String
    let (encoding, sent, manner): (String, Body, Manner)
    /// The bytes that the record describes.
    let file: Body
    let outcome: Outcome

    private init(
        _ name: String, _ encoding: String, _ sent: Body, _ manner: Manner, of file: Body, _ outcome: Outcome
    ) {
        description = name
        (self.encoding, self.sent, self.manner, self.file, self.outcome) = (encoding, sent, manner, file, outcome)
    }

    /// Downloads the file.
    ///
    /// - Parameter decodes: whether the transport decodes the bytes it receives.
    /// - Returns: what is wrong with the outcome; `nil` if nothing is.
    package func complaint(about transport: any HTTPTransport, decodes: Bool) async throws -> String? {
        let server = try FaultyServer(transport: transport)
        let client = try server.client("ok")
        let path = "coded/\(encoding.replacing(", ", with: "+"))/\(sent)/\(manner)"
        let base = try server.attachments(path, of: client)
        let file = file.bytes
        var received: [UInt8] = []
        do {
            try await client.attachment("a", at: base, size: file.count, digest: SHA256Digest(hashing: Bytes(file))) {
                switch $0 {
                case .start(let offset): received.removeLast(received.count - offset)
                case .bytes(let more): received += more
                }
            }
        } catch let error as Failure {
            let mayFail = outcome == .rightAsSent ? decodes : outcome != .right
            guard mayFail else { return "it was refused: \(error)" }
            guard error.code == .content || decodes && error.code == .broken else {
                return "the error has the code \(error.code): \(error)"
            }
            let isNamed = encoding == "identity" || "\(error)".contains("Content-Encoding \(encoding)")
            return isNamed ? nil : "the error does not name the coding: \(error)"
        }
        if outcome == .refused { return "it was taken" }
        guard received == file else { return "the bytes are wrong" }
        let ranges = server.requests.compactMap { $0.headers["range"] }
        return manner == .breaks && sent == self.file && ranges.isEmpty ? "it was not resumed" : nil
    }

    package static let table = [
        Coding("a file", "identity", .plain, .whole, of: .plain, .right),
        Coding("a file that a CDN compresses", "gzip", .packed, .whole, of: .plain, .right),
        Coding("a file that a CDN compresses, without a length", "x-gzip", .packed, .chunked, of: .plain, .right),
        Coding("a compressed file that breaks off", "gzip", .packed, .breaks, of: .plain, .right),
        Coding("a .gz", "identity", .packed, .whole, of: .packed, .right),
        Coding("a .gz that breaks off", "identity", .packed, .breaks, of: .packed, .right),
        Coding("a .gz that is named as gzip", "gzip", .packed, .whole, of: .packed, .rightAsSent),
        Coding("a .gz that is named as gzip, without a length", "gzip", .packed, .chunked, of: .packed, .rightAsSent),
        Coding("a .gz that is named as gzip and breaks off", "gzip", .packed, .breaks, of: .packed, .rightAsSent),
        Coding("a .gz that breaks off, without ranges", "gzip", .packed, .breaksOnce, of: .packed, .rightAsSent),
        Coding("a .gz that a CDN compresses again", "gzip", .packedTwice, .whole, of: .packed, .right),
        Coding("a .gz that a CDN decompresses", "identity", .plain, .whole, of: .packed, .refused),
        Coding("a file that is named as gzip and is none", "gzip", .plain, .whole, of: .plain, .rightAsSent),
        Coding("a file in a coding that nobody knows", "compress", .plain, .whole, of: .plain, .rightAsSent),
        Coding("a file that is named as gzip twice", "gzip, gzip", .packedTwice, .whole, of: .plain, .either),
        Coding("another file", "gzip", .other, .whole, of: .plain, .refused),
        Coding("another file that is named as gzip", "gzip", .other, .whole, of: .packed, .refused),
    ]
}
