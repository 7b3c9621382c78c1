import RemoteSettingsModel

/// The base URL of a server's attachments: `capabilities.attachments.base_url` in its root document.
///
/// Its host is usually a CDN and not the server itself. The locations of attachments come from records, so this type
/// checks that none of them leads to another host or outside the base URL's path.
package struct AttachmentsURL: Hashable, Sendable {
    /// The URL, whose path ends with a slash.
    package let url: HTTPURL

    /// Parses the base URL.
    ///
    /// - Parameter baseURL: the URL as served. It may be relative to the server, and its trailing slash may be missing.
    /// - Throws: ``Failure`` with ``Failure/invalidURL(_:)``, or with ``Failure/insecure`` if the
    ///   URL is plain `http` and the server's is not, or if the server's configuration does not allow plain `http`.
    package init(_ baseURL: String, of server: ServerURL) throws(Failure) {
        let given = try server.root.resolving(baseURL)
        guard given.query == nil else {
            throw Failure(baseURL, .invalidURL("the attachments' base URL must not have a query"))
        }
        try server.checkReference(given)
        url = given.path.hasSuffix("/") ? given : given.appending(path: "/")
    }

    /// Returns the URL of an attachment.
    ///
    /// - Parameter location: the record's `attachment.location`: a relative path, percent-encoded or not.
    /// - Throws: ``Failure`` with ``Failure/badLocation(_:)`` if the location is empty, absolute or longer
    ///   than 2048 bytes, or if it has a scheme, a query, a fragment, a backslash, a control character, or a `.` or
    ///   `..` segment, even an encoded one.
    func attachment(_ location: String) throws(Failure) -> HTTPURL {
        func refuse(_ why: String) -> Failure {
            Failure(VisibleText.excerpt(location, limit: 200), .badLocation(why))
        }
        if Self.isPlain(location) { return url.appending(path: location) }
        guard !location.isEmpty else { throw refuse("it is empty") }
        guard location.utf8.count <= 2048 else { throw refuse("it is longer than 2048 bytes") }
        guard location.utf8.first != UInt8(ascii: "/") else { throw refuse("it must be a relative path") }
        guard location.utf8.allSatisfy({ $0 > 0x1F && $0 != 0x7F }) else {
            throw refuse("it contains a control character")
        }
        func has(_ byte: Unicode.Scalar) -> Bool { location.utf8.contains(UInt8(ascii: byte)) }
        guard !has("\\") else { throw refuse("it contains a backslash") }
        guard !has("?"), !has("#") else { throw refuse("it contains a query or fragment") }
        guard let path = PercentEncoding.complete(location) else {
            throw refuse("a % is not followed by two hexadecimal digits")
        }
        let segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map(Substring.init)
        guard segments.first?.contains(":") != true else { throw refuse("it contains a scheme") }
        for segment in segments {
            if URLReference.isDot(segment) || URLReference.isDoubleDot(segment) {
                throw refuse("it contains a . or .. segment")
            }
            // Some servers and caches interpret an encoded slash or backslash as a separator, and NUL as the end of the
            // path.
            let decoded = PercentEncoding.decode(String(segment)).utf8
            guard decoded.allSatisfy({ $0 > 0x1F && $0 != 0x7F && $0 != 0x2F && $0 != 0x5C }) else {
                throw refuse("it contains an encoded slash, backslash or control character")
            }
        }
        return url.appending(path: path)
    }

    /// Returns whether a location is a relative path of letters, digits and `-._~` without `.` and `..` segments.
    ///
    /// Nearly all locations on real servers are like this. Such a location passes every check of ``attachment(_:)``,
    /// and percent-encoding does not change it.
    private static func isPlain(_ location: String) -> Bool {
        var (length, segment, dots) = (0, 0, 0)
        for byte in location.utf8 {
            length += 1
            switch byte {
            case UInt8(ascii: "/"):
                guard length > 1, segment != dots || segment == 0 else { return false }
                (segment, dots) = (0, 0)
                continue
            case UInt8(ascii: "."): dots += 1
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"):
                break
            default: return false
            }
            segment += 1
        }
        return length > 0 && length <= 2048 && (segment != dots || segment == 0)
    }

    /// Returns the URL of the ZIP file with a collection's attachments. Servers offer it if
    /// `metadata.attachment.bundle` is true.
    func zip(_ collection: CollectionID) -> HTTPURL {
        url.appending(path: "bundles/\(collection.bucket)--\(collection.name).zip")
    }
}

extension AttachmentsURL: CustomStringConvertible {
    package var description: String { url.description }
}
