import HTTPTypes
import NIOHTTP1
import RemoteSettingsModel
import SnapshotServer

extension FuzzTarget {
    static let head = FuzzTarget(
        "head", "a request's head as NIO hands it on; what is taken fulfils RFC 9112, and a range is that of RFC 9110",
        longest: 1024,
        words: [
            "GET ", "HEAD ", "POST ", " HTTP/1.1\n", " HTTP/1.0\n", " HTTP/2.0\n", "Host: a\n", "Host:\n",
            "Content-Length: 0\n", "Content-Length: 5, 5\n", "Transfer-Encoding: chunked\n",
            "Transfer-Encoding: gzip, chunked\n", "Expect: 100-continue\n", "Range: bytes=0-1\n", "Range: bytes=-5\n",
            "Range: bytes=5-\n", "Range: BYTES=1-2,3-4\n", "bytes=", "-", "If-Range: \"t\"\n",
            "If-None-Match: W/\"t\", *\n", "If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT\n",
            "Accept-Encoding: gzip;q=0, *\n", "Accept: text/html;q=0.0\n", "Upgrade: h2c\n", "http://h", "https://h:1/",
            "%2F", "%00", "%", "?", "#", "@", "\t", "q=",
        ],
        seeds: { _ in
            [
                "GET /v1/ HTTP/1.1\nHost: h\n",
                "GET http://h/x?y HTTP/1.1\nHost: h\nRange: bytes=0-\nIf-Range: \"t\"\n",
                "POST / HTTP/1.0\nContent-Length: 3\n",
                "GET / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\nExpect: x\n",
                "GET /%41 HTTP/1.1\nHost: h\nAccept-Encoding: br, gzip;q=0.5\nIf-None-Match: \"a\", \"t\"\n",
                "GET / HTTP/1.1\nHost: [::1]:80\nRange: bytes=-18446744073709551616\nIf-Modified-Since: x\n",
            ].map { Array($0.utf8) }
        }
    ) { input in
        let lines = input.split(separator: 10, omittingEmptySubsequences: true).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard let first = lines.first else { return }
        let words = first.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2].hasPrefix("HTTP/") else { return }
        let numbers = words[2].dropFirst(5).split(separator: ".").compactMap { Int($0) }.filter { (0...9).contains($0) }
        guard numbers.count == 2 else { return }
        var headers = NIOHTTP1.HTTPHeaders()
        var fields = HTTPFields()
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            // NIO rejects other names before they reach this package.
            let text = String(line[..<colon])
            guard let name = HTTPField.Name(text) else { continue }
            let value = String(line[line.index(after: colon)...].drop { $0 == " " })
            headers.add(name: text, value: value)
            fields.append(HTTPField(name: name, value: value))
        }
        let head = HTTPRequestHead(
            version: HTTPVersion(major: numbers[0], minor: numbers[1]), method: .GET, uri: String(words[1]),
            headers: headers)
        if case .good(let target) = RequestCheck.check(head) {
            let bytes = Array(target.utf8)
            try require(
                bytes.first == UInt8(ascii: "/") && bytes.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "#") },
                "invalid target \(target)")
            try require(numbers[0] == 1 && numbers[1] <= 1, "unsupported version")
            let lengths = headers["content-length"].count + headers["transfer-encoding"].count
            try require(lengths <= 1, "\(lengths) body length headers")
            try require(headers["host"].count == 1 || numbers[1] == 0, "\(headers["host"].count) Host headers")
            let parts = RequestTarget(target)
            try require(
                String(parts.path) + (parts.query.map { "?\($0)" } ?? "") == target,
                "the parts do not form the target: \(target)")
        }
        _ = fields.acceptsGzip
        _ = fields.accepts("text/html")
        for time in [nil, Timestamp(milliseconds: 1_700_000_000_123), Timestamp(milliseconds: .max)] as [Timestamp?] {
            _ = fields.isNotModified(tag: "\"t\"", lastModified: time)
            _ = fields.allowsRange(tag: "\"t\"", lastModified: time)
        }
        guard let range = fields[.range] else { return }
        for size in [0, 1, 5, 1000, Int.max] { try checkRange(range, size) }
    }

    /// Checks a single range by RFC 9110 section 14.1.2 in an independent way: with the digits as text.
    private static func checkRange(_ header: String, _ size: Int) throws {
        let found = ByteRange(header, size: size)
        guard case .part(let part) = found else { return }
        try require(part.lowerBound >= 0 && !part.isEmpty && part.upperBound <= size, "\(part) exceeds \(size) bytes")
        let digits = header.drop { $0 != "=" }.dropFirst().drop { $0 == " " }
        let ends = digits.split(separator: "-", omittingEmptySubsequences: false).map { $0.drop { $0 == "0" } }
        try require(ends.count == 2, "\(part) for the invalid range \(header)")
        func text(_ number: Int) -> Substring { "\(number)"[...].drop { $0 == "0" } }
        if digits.hasPrefix("-") {
            try require(part.upperBound == size, "the suffix ends early")
            try require(
                text(part.count) == ends[1] || part.count == size, "\(part.count) bytes for \(header)")
        } else {
            try require(text(part.lowerBound) == ends[0], "\(part) for \(header)")
            let isOpen = digits.hasSuffix("-")
            try require(
                part.upperBound == size || (!isOpen && text(part.upperBound - 1) == ends[1]), "\(part) for \(header)")
        }
    }
}
