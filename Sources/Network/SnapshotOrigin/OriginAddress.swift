import RemoteSettingsHTTP
import RemoteSettingsModel

/// The address at which clients reach a server. It appears in the URLs of the server's documents.
package struct OriginAddress: Hashable, Sendable, CustomStringConvertible {
    /// The base URL: `https://host:port`, then a path if there is one, without a trailing slash.
    package let url: String
    /// The host and port, in the format of the monitor's entries.
    let host: String

    /// Parses an address.
    ///
    /// - Parameter text: an absolute URL without a query, such as `https://mirror.example.org`.
    /// - Throws: `Failure` if the text is not such a URL.
    package init(_ text: String) throws(Failure) {
        let url = try HTTPURL(text)
        guard url.query == nil else { throw Failure(text, .invalidURL("a server's address must not have a query")) }
        var trimmed = "\(url)"[...]
        while trimmed.hasSuffix("/") { trimmed = trimmed.dropLast() }
        self.url = String(trimmed)
        host = url.host + (url.port.map { ":\($0)" } ?? "")
    }

    package var description: String { url }

    /// The prefix of every path of the server, without a trailing slash; usually empty.
    package var path: String {
        guard let start = url.firstRange(of: "://")?.upperBound, let slash = url[start...].firstIndex(of: "/") else {
            return ""
        }
        return String(url[slash...])
    }

    /// The base URL of attachments, with a trailing slash.
    var attachments: String { "\(url)/attachments/" }

    func chain(_ name: String) -> String { "\(url)/chains/\(name)" }
}

/// The versions of the server's API.
package enum APIVersion: String, Hashable, Sendable, CaseIterable {
    case v1
    case v2

    /// Creates the version at the beginning of a request's path; `nil` for other paths.
    package init?(path: some StringProtocol) {
        let first = path.utf8.dropFirst().prefix { $0 != UInt8(ascii: "/") }
        guard let version = Self.allCases.first(where: { $0.rawValue.utf8.elementsEqual(first) }) else { return nil }
        self = version
    }
}
