import RemoteSettingsModel

/// An absolute `http` or `https` URL, validated and normalized (RFC 3986), without user name, password or fragment.
///
/// The scheme and host are in lower case, the scheme's default port is omitted, and dot segments are removed.
/// Characters that a URL cannot contain (spaces, quotes, all non-ASCII characters) are percent-encoded as UTF-8. Equal
/// URLs have equal strings.
package struct HTTPURL: Hashable, Sendable {
    /// The two schemes that are accepted.
    package enum Scheme: String, Hashable, Sendable {
        /// Plain HTTP, without encryption.
        case http
        /// HTTP over TLS.
        case https
    }

    /// The scheme, `http` or `https`.
    package let scheme: Scheme
    /// A registered name or IPv4 address in lower case, or an IPv6 address in brackets.
    package let host: String
    /// The port; `nil` for the scheme's default (80 or 443).
    package let port: Int?
    /// The percent-encoded path, which starts with `/`.
    package let path: String
    /// The percent-encoded query, without the `?`; `nil` if there is none.
    package let query: String?

    /// The longest accepted URL in bytes, both as given and after percent-encoding.
    static let longest = 8192

    /// Creates a URL from parts that are already validated and percent-encoded.
    private init(
        checking reference: String, scheme: Scheme, host: String, port: Int?, path: String, query: String?
    ) throws(Failure) {
        self.init(scheme: scheme, host: host, port: port, path: path, query: query)
        // The description must be short enough to be parsed again by this type.
        guard description.utf8.count <= Self.longest else {
            throw Failure(
                VisibleText.excerpt(reference, limit: 80),
                .invalidURL("it is longer than \(Self.longest) bytes after percent-encoding"))
        }
    }

    init(scheme: Scheme, host: String, port: Int? = nil, path: String, query: String? = nil) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
        self.query = query
    }

    /// Parses an absolute URL. A fragment is dropped.
    ///
    /// - Throws: ``Failure`` with ``Failure/invalidURL(_:)``.
    package init(_ text: String) throws(Failure) {
        let parts = try URLReference(text)
        guard let name = parts.scheme else {
            throw Failure(text, .invalidURL("it has no scheme; write the full URL, such as https://example.org/v1"))
        }
        guard let scheme = Scheme(rawValue: name) else {
            throw Failure(text, .invalidURL("it does not begin with https:// or http://"))
        }
        guard let authority = parts.authority else { throw Failure(text, .invalidURL("it has no host")) }
        let (host, port) = try Self.hostAndPort(authority, of: text)
        try self.init(
            checking: text, scheme: scheme, host: host, port: port == Self.defaultPort(scheme) ? nil : port,
            path: URLReference.removingDotSegments(parts.path.isEmpty ? "/" : parts.path), query: parts.query)
    }

    /// Resolves a URL reference against this URL (RFC 3986 §5.2).
    ///
    /// - Throws: ``Failure`` with ``Failure/invalidURL(_:)`` if the reference is malformed, or has a user
    ///   name or a scheme other than `http` and `https`.
    package func resolving(_ reference: String) throws(Failure) -> HTTPURL {
        let parts = try URLReference(reference)
        if parts.scheme != nil { return try HTTPURL(reference) }
        if parts.authority != nil { return try HTTPURL("\(scheme.rawValue):\(reference)") }
        let path: String
        if parts.path.isEmpty {
            path = self.path
        } else if parts.path.hasPrefix("/") {
            path = URLReference.removingDotSegments(parts.path)
        } else {
            let directory = self.path.lastIndex(of: "/").map { String(self.path[...$0]) } ?? "/"
            path = URLReference.removingDotSegments(directory + parts.path)
        }
        let query = parts.path.isEmpty && parts.query == nil ? self.query : parts.query
        return try HTTPURL(checking: reference, scheme: scheme, host: host, port: port, path: path, query: query)
    }

    /// The scheme, host and port. A backoff (`Backoff`, `Retry-After`) applies to all URLs of one origin.
    package var origin: String {
        "\(scheme.rawValue)://\(host)" + (port.map { ":\($0)" } ?? "")
    }

    /// Whether the host is this machine: `localhost`, 127.0.0.0/8 or `[::1]`.
    var isLoopback: Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { part in
                part.count <= 3 && part.utf8.allSatisfy { (48...57).contains($0) } && UInt8(part) != nil
                    && (part.count == 1 || part.first != "0")
            }
    }

    /// Returns the first value of a query parameter, percent-decoded; `nil` if there is none.
    func queryValue(_ name: String) -> String? {
        guard let query else { return nil }
        for field in query.split(separator: "&") {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard PercentEncoding.decode(String(parts[0])) == name else { continue }
            return parts.count == 2 ? PercentEncoding.decode(String(parts[1])) : ""
        }
        return nil
    }

    /// Returns this URL with `suffix` appended to its path and with the given query. Both must be percent-encoded.
    func appending(path suffix: String, query: String? = nil) -> HTTPURL {
        HTTPURL(scheme: scheme, host: host, port: port, path: path + suffix, query: query)
    }

    private static func defaultPort(_ scheme: Scheme) -> Int { scheme == .https ? 443 : 80 }

    private static func hostAndPort(_ authority: String, of text: String) throws(Failure) -> (String, Int?) {
        if authority.contains("@") {
            throw Failure(text, .invalidURL("user names and passwords in URLs are not supported"))
        }
        let hostEnd: String.Index
        if authority.hasPrefix("[") {
            guard let bracket = authority.firstIndex(of: "]") else {
                throw Failure(text, .invalidURL("its IPv6 address has no closing bracket"))
            }
            hostEnd = authority.index(after: bracket)
        } else {
            hostEnd = authority.firstIndex(of: ":") ?? authority.endIndex
        }
        let host = authority[..<hostEnd].lowercased()
        let rest = authority[hostEnd...]
        guard isHost(host) else {
            throw Failure(text, .invalidURL("its host is not an ASCII DNS name or an IP address"))
        }
        if rest.isEmpty || rest == ":" { return (host, nil) }
        let digits = rest.dropFirst()
        guard rest.first == ":", digits.count <= 5, digits.utf8.allSatisfy({ (48...57).contains($0) }),
            let port = Int(digits), (1...65535).contains(port)
        else { throw Failure(text, .invalidURL("its port is not a number from 1 to 65535")) }
        return (host, port)
    }

    private static func isHost(_ host: String) -> Bool {
        if host.hasPrefix("[") {
            let address = host.utf8.dropFirst().dropLast()
            return host.hasSuffix("]") && (2...45).contains(address.count)
                && address.contains(UInt8(ascii: ":"))
                && address.allSatisfy { PercentEncoding.isHex($0) || $0 == 0x3A || $0 == 0x2E }
        }
        // The check starts as if a dot preceded the host, so that a leading dot is refused as an empty label, like two
        // dots in a row.
        var previous = UInt8(ascii: ".")
        for byte in host.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                break
            case UInt8(ascii: ".") where previous != byte: break
            default: return false
            }
            previous = byte
        }
        return !host.isEmpty && host.utf8.count <= 253
    }
}

extension HTTPURL: CustomStringConvertible {
    package var description: String { origin + path + (query.map { "?\($0)" } ?? "") }
}

/// The parts of a URL reference (RFC 3986 §4.1), split and percent-encoded but not yet resolved.
struct URLReference {
    /// The scheme in lower case; `nil` if there is none.
    var scheme: String?
    var authority: String?
    var path: String
    var query: String?

    /// Splits a URL reference.
    ///
    /// - Throws: ``Failure`` with ``Failure/invalidURL(_:)``.
    init(_ text: String) throws(Failure) {
        guard text.utf8.count <= HTTPURL.longest else {
            throw Failure(
                VisibleText.excerpt(text, limit: 80), .invalidURL("it is longer than \(HTTPURL.longest) bytes"))
        }
        guard text.utf8.allSatisfy({ $0 > 0x1F && $0 != 0x7F }) else {
            throw Failure(text, .invalidURL("it contains a control character"))
        }
        guard !text.utf8.contains(UInt8(ascii: "\\")) else {
            throw Failure(text, .invalidURL("it contains a backslash"))
        }
        var rest = text[...]
        if let hash = rest.firstIndex(of: "#") { rest = rest[..<hash] }
        if let mark = rest.firstIndex(of: "?") {
            query = try Self.encode(rest[rest.index(after: mark)...], of: text)
            rest = rest[..<mark]
        }
        if let colon = rest.firstIndex(of: ":"), Self.isScheme(rest[..<colon]) {
            scheme = rest[..<colon].lowercased()
            rest = rest[rest.index(after: colon)...]
        } else if let first = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).first,
            first.contains(":")
        {
            // The first segment of a relative path must not contain a colon (RFC 3986 §4.2).
            throw Failure(text, .invalidURL("the text before its first colon is not a scheme"))
        }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: "/") ?? rest.endIndex
            authority = String(rest[..<end])
            rest = rest[end...]
        }
        path = try Self.encode(rest, of: text)
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, isLetter(first) else { return false }
        return text.utf8.allSatisfy {
            isLetter($0) || (48...57).contains($0) || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

    private static func encode(_ part: Substring, of text: String) throws(Failure) -> String {
        guard let encoded = PercentEncoding.complete(part) else {
            throw Failure(text, .invalidURL("a % in it is not followed by two hexadecimal digits"))
        }
        return encoded
    }

    /// Removes the dot segments of a path that starts with `/` (RFC 3986 §5.2.4). `%2e` is treated as a dot, because
    /// browsers and servers do the same.
    static func removingDotSegments(_ path: String) -> String {
        var kept: [String] = []
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (offset, segment) in segments.enumerated() {
            let isLast = offset == segments.count - 1
            if isDot(segment) {
                if isLast { kept.append("") }
            } else if isDoubleDot(segment) {
                _ = kept.popLast()
                if isLast { kept.append("") }
            } else {
                kept.append(String(segment))
            }
        }
        return "/" + kept.joined(separator: "/")
    }

    static func isDot(_ segment: Substring) -> Bool { segment == "." || segment.lowercased() == "%2e" }

    static func isDoubleDot(_ segment: Substring) -> Bool {
        switch segment.lowercased() {
        case "..", ".%2e", "%2e.", "%2e%2e": true
        default: false
        }
    }
}
