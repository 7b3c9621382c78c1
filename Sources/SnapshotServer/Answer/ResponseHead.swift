import NIOCore
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotOrigin

/// An answer's status line and headers as they go over the wire, but for `Date`, `Connection` and the empty line.
///
/// Whatever is put in is this program's own, or was checked to be printable ASCII: nothing of a request is repeated.
struct ResponseHead {
    private var lines = Lines()

    init(_ status: Int) {
        lines.text = "HTTP/1.1 \(status) \(Self.reasons[status] ?? "Status")\r\nServer: rsdump\r\n"
    }

    mutating func add(_ name: String, _ value: String) { lines.add(name, value) }

    mutating func append(_ more: String) { lines.text += more }

    var buffer: ByteBuffer { ByteBuffer(string: lines.text) }

    private static let reasons = [
        200: "OK", 204: "No Content", 206: "Partial Content", 304: "Not Modified", 307: "Temporary Redirect",
        400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout",
        413: "Content Too Large", 416: "Range Not Satisfiable", 417: "Expectation Failed",
        431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
        505: "HTTP Version Not Supported",
    ]
}

extension ResponseHead {
    /// Header lines without a status line.
    struct Lines {
        var text = ""
    }
}

extension ResponseHead.Lines {
    mutating func add(_ name: String, _ value: String) {
        text += "\(name): \(value)\r\n"
    }

    /// What all answers of the API say: other sites' scripts may read them, and nobody guesses types.
    mutating func addCommon() {
        text += "Access-Control-Allow-Origin: *\r\n"
        text += "Access-Control-Expose-Headers: Backoff, Retry-After, Alert, Content-Length, ETag, Last-Modified\r\n"
        text += "X-Content-Type-Options: nosniff\r\n"
    }

    mutating func add(_ freshness: OriginResource.Freshness) {
        switch freshness {
        case .seconds(let seconds): add("Cache-Control", "public, max-age=\(seconds)")
        case .immutable: add("Cache-Control", "public, max-age=31536000, immutable")
        case .none: add("Cache-Control", "no-store")
        }
    }
}
