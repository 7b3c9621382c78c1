import RemoteSettingsModel
import SnapshotBundle

/// The web UI's response to a request. The server sends it unchanged.
package struct PageAnswer: Sendable {
    package enum Body: Sendable {
        case bytes(Bytes)
        /// An attachment of `size` bytes in a bundle, to be streamed.
        case attachment(SHA256Digest, of: BundleReader, size: Int)
    }

    package struct Header: Hashable, Sendable {
        package let name: String
        package let value: String

        init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package let status: Int
    /// The headers, without duplicate names. The server adds `Content-Length`.
    package let headers: [Header]
    package let body: Body

    package subscript(header name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Returns a page of the web UI. It has no script, and its content security policy does not allow one.
    static func document(_ html: HTMLWriter, status: Int = 200, _ more: [Header] = []) -> PageAnswer {
        PageAnswer(
            status: status,
            headers: [
                Header("Content-Type", "text/html; charset=utf-8"),
                Header("Content-Security-Policy", documentPolicy),
                Header("Cache-Control", "no-cache"),
            ] + more + common,
            body: .bytes(Bytes(html.bytes)))
    }

    /// Returns a response with a file from a record. The file is treated as hostile.
    ///
    /// If a browser opens the file as a document, the document has no origin and cannot run scripts (CSP 3, `sandbox`).
    static func file(_ headers: [Header], _ body: Body) -> PageAnswer {
        PageAnswer(
            status: 200,
            headers: headers + [Header("Content-Security-Policy", filePolicy), Header("Cache-Control", "no-cache")]
                + common,
            body: body)
    }

    private static let documentPolicy =
        "default-src 'none'; style-src '\(StyleSheet.hash)'; img-src 'self'; form-action 'self'; "
        + "frame-ancestors 'none'; base-uri 'none'"
    private static let filePolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
    private static let common = [
        Header("X-Content-Type-Options", "nosniff"), Header("Referrer-Policy", "no-referrer"),
        Header("Cross-Origin-Resource-Policy", "same-origin"), Header("Cross-Origin-Opener-Policy", "same-origin"),
    ]
}
