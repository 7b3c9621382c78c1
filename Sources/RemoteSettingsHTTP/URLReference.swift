import RemoteSettingsModel

/// The parts of a URL reference (RFC 3986 §4.1), split and percent-encoded but not yet resolved.
struct URLReference {
    /// In lower case.
    var scheme: String?
    var authority: String?
    var path: String
    var query: String?

    /// - Throws: ``HTTPError`` with ``HTTPError/Reason/invalidURL(_:)``.
    init(_ text: String) throws(HTTPError) {
        guard text.utf8.count <= HTTPURL.longest else {
            throw HTTPError(String(text.prefix(80)) + "…", .invalidURL("it is longer than \(HTTPURL.longest) bytes"))
        }
        guard text.utf8.allSatisfy({ $0 > 0x1F && $0 != 0x7F }) else {
            throw HTTPError(text, .invalidURL("it contains a control character"))
        }
        guard !text.utf8.contains(UInt8(ascii: "\\")) else {
            throw HTTPError(text, .invalidURL("it contains a backslash"))
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
            // RFC 3986 §4.2: the first segment of a relative path has no colon.
            throw HTTPError(text, .invalidURL("what stands before its first colon is not a scheme"))
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

    private static func encode(_ part: Substring, of text: String) throws(HTTPError) -> String {
        guard let encoded = PercentEncoding.complete(part) else {
            throw HTTPError(text, .invalidURL("a % in it is not followed by two hexadecimal digits"))
        }
        return encoded
    }

    /// RFC 3986 §5.2.4, for a path that starts with `/`; `%2e` counts as a dot, as browsers and servers read it.
    static func removingDotSegments(_ path: String) -> String {
        var kept: [Substring] = []
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (offset, segment) in segments.enumerated() {
            let isLast = offset == segments.count - 1
            if isDot(segment) {
                if isLast { kept.append("") }
            } else if isDoubleDot(segment) {
                _ = kept.popLast()
                if isLast { kept.append("") }
            } else {
                kept.append(segment)
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
