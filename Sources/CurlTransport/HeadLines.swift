import RemoteSettingsHTTP

/// The lines of an answer's head, as libcurl hands them over one by one.
struct HeadLines {
    /// Of the whole head, interim answers before it included.
    static let mostBytes = 256 << 10

    private(set) var status = 0
    private(set) var headers = HTTPHeaders()
    private var bytes = 0

    var isTooLong: Bool { bytes > Self.mostBytes }
    var contentLength: Int? { headers["Content-Length"].flatMap { Int($0) } }

    /// - Returns: whether the head is complete; `nil` where it is too long.
    mutating func add(_ line: some Collection<UInt8>) -> Bool? {
        bytes += line.count
        guard !isTooLong else { return nil }
        let text = String(decoding: line.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        if text.hasPrefix("HTTP/"), let code = text.split(separator: " ").dropFirst().first {
            // An interim answer (RFC 9110 §15.2) came before it.
            status = Int(code) ?? 0
            headers = HTTPHeaders()
        } else if let colon = text.firstIndex(of: ":") {
            headers.add(String(text[..<colon]), String(text[text.index(after: colon)...]))
        }
        return text.isEmpty && status >= 200
    }
}
