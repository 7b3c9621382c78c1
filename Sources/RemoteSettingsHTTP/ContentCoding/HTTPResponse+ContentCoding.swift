extension HTTPResponse {
    /// The same answer with its body's `Content-Encoding` undone, where that is gzip and `request` accepts it; does no
    /// I/O. The headers stay as they were sent (RFC 9110 §8.4).
    ///
    /// - Throws: ``HTTPError`` with `badEncoding` where zlib cannot be started.
    public func decoded(for request: HTTPRequest) throws(HTTPError) -> HTTPResponse {
        guard request.acceptsGzip, headers.saysGzip else { return self }
        return HTTPResponse(status: status, headers: headers, body: try GzipBody(body, url: request.url))
    }
}

extension HTTPRequest {
    fileprivate var acceptsGzip: Bool {
        headers["Accept-Encoding"]?.lowercased().contains("gzip") ?? false
    }
}

extension HTTPHeaders {
    fileprivate var saysGzip: Bool {
        let encoding = self["Content-Encoding"]?.lowercased()
        return encoding == "gzip" || encoding == "x-gzip"
    }
}
