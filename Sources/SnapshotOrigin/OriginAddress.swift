import RemoteSettingsHTTP
import RemoteSettingsModel

/// The address at which clients reach an origin; its documents name it in URLs.
package struct OriginAddress: Hashable, Sendable, CustomStringConvertible {
    /// `https://host:port`, or with a path in front of everything; without a slash at its end.
    package let url: String
    /// Host and port as the monitor's entries name them.
    package let host: String

    /// - Parameter text: an absolute URL without a query, such as `https://mirror.example.org`.
    /// - Throws: `HTTPError` where the text is not such a URL.
    package init(_ text: String) throws(HTTPError) {
        let url = try HTTPURL(text)
        guard url.query == nil else { throw HTTPError(text, .invalidURL("an origin's address has no query")) }
        var trimmed = "\(url)"[...]
        while trimmed.hasSuffix("/") { trimmed = trimmed.dropLast() }
        self.url = String(trimmed)
        host = url.host + (url.port.map { ":\($0)" } ?? "")
    }

    package var description: String { url }

    /// The base URL of attachments, with a slash at its end.
    var attachments: String { "\(url)/attachments/" }

    func chain(_ name: String) -> String { "\(url)/chains/\(name)" }
}

/// The versions of the server's API.
package enum APIVersion: String, Hashable, Sendable, CaseIterable {
    case v1
    case v2
}
