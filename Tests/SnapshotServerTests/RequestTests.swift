import HTTPTypes
import NIOCore
import NIOHTTP1
import RemoteSettingsModel
import Testing

@testable import SnapshotServer

@Suite struct RequestTests {
    @Test(arguments: [
        ("bytes=0-0", ByteRange.part(0..<1)), ("bytes=5-99", .part(5..<10)), ("bytes=9-", .part(9..<10)),
        ("bytes=-3", .part(7..<10)), ("bytes=-99", .part(0..<10)), ("BYTES=1-2", .part(1..<3)),
        ("bytes= 1-2", .part(1..<3)), ("bytes=0-99999999999999999999", .part(0..<10)),
        ("bytes=10-", .unsatisfiable), ("bytes=-0", .unsatisfiable), ("bytes=99999999999999999999-", .unsatisfiable),
        ("bytes=2-1", .whole), ("bytes=0-1,3-4", .whole), ("bytes=", .whole), ("bytes=-", .whole),
        ("lines=0-1", .whole),
        ("bytes=a-b", .whole), ("bytes=+1-2", .whole), ("bytes=0-1-2", .whole), ("", .whole), ("bytes", .whole),
        ("bytes=-99999999999999999999", .part(0..<10)), ("bytes=\u{661}-", .whole),
        ("bytes=" + String(repeating: "0", count: 200) + "-1", .whole),
    ])
    func rangeHeaderIsParsed(header: String, expected: ByteRange) {
        #expect(ByteRange(header, size: 10) == expected)
    }

    @Test func rangeOfEmptyFileIsUnsatisfiable() {
        #expect(ByteRange("bytes=0-", size: 0) == .unsatisfiable)
        #expect(ByteRange("bytes=-1", size: 0) == .unsatisfiable)
    }

    private func head(
        _ uri: String = "/v1/", _ headers: [(String, String)] = [("Host", "x")], minor: Int = 1,
        method: HTTPMethod = .GET
    ) -> HTTPRequestHead {
        HTTPRequestHead(
            version: HTTPVersion(major: 1, minor: minor), method: method, uri: uri, headers: HTTPHeaders(headers))
    }

    private func outcome(_ head: HTTPRequestHead) -> String {
        switch RequestCheck.check(head) {
        case .good(let target): target
        case .refused(let status, let refusal, _): "\(status.code) \(refusal.rawValue)"
        }
    }

    @Test(arguments: [
        ("/v1/?a=b", "/v1/?a=b"), ("http://x/v1/", "/v1/"), ("HTTPS://evil.example:99/a?b=http://x/", "/a?b=http://x/"),
        ("http://x?a=/b", "/?a=/b"), ("/a%20b", "/a%20b"), ("//etc/passwd", "//etc/passwd"),
    ])
    func requestTargetIsNormalized(uri: String, target: String) {
        #expect(outcome(head(uri)) == target)
    }

    @Test(arguments: [
        "", "v1/", "*", "/v1/#x", "/a b", "/%zz", "/%2", "/%", "/a%00b", "/a%0d%0ab", "/%7f", "/%+1", "/\u{e9}",
        "ftp://x/", "x:80", "http:///v1/", "http://u@x/",
    ])
    func ambiguousRequestTargetIsRefused(uri: String) {
        #expect(outcome(head(uri)) == "400 malformed")
    }

    @Test(arguments: [
        ([("Content-Length", "5"), ("Content-Length", "5")], "400 ambiguous-length"),
        ([("Content-Length", "5"), ("Transfer-Encoding", "chunked")], "400 ambiguous-length"),
        ([("Transfer-Encoding", "chunked"), ("TRANSFER-ENCODING", "chunked")], "400 ambiguous-length"),
        ([("Content-Length", "+5")], "400 ambiguous-length"), ([("Content-Length", "")], "400 ambiguous-length"),
        ([("Transfer-Encoding", "gzip")], "400 ambiguous-length"),
        ([("content-length", "5"), ("Expect", "100-continue")], "417 malformed"),
        ([("Host", "y")], "400 malformed"), ([("Content-Length", "5")], "/v1/"),
        ([("transfer-encoding", "Chunked")], "/v1/"), ([("Expect", "100-continue")], "/v1/"),
    ])
    func ambiguousBodyLengthIsRefused(headers: [(String, String)], expected: String) {
        #expect(outcome(head("/v1/", [("Host", "x")] + headers)) == expected)
    }

    @Test func http10NeedsNoHostAndHasNoChunks() {
        #expect(outcome(head("/v1/", [], minor: 0)) == "/v1/")
        #expect(outcome(head("/v1/", [], minor: 1)) == "400 malformed")
        #expect(outcome(head("/v1/", [("Transfer-Encoding", "chunked")], minor: 0)) == "400 ambiguous-length")
        #expect(outcome(head("/v1/", minor: 2)) == "505 malformed")
    }

    @Test(arguments: ["x/../y", "x y", "\u{e9}", "x\"><script>", "u@x", "x?y", "x#y"])
    func invalidHostHeaderIsRefused(host: String) {
        #expect(outcome(head("/v1/", [("Host", host)])) == "400 malformed")
    }

    @Test func upgradeAndConnectEndParsing() {
        #expect(head("/", [("Host", "x"), ("Upgrade", "h2c")]).endsParsing)
        #expect(head(method: .CONNECT).endsParsing)
        #expect(!head().endsParsing)
    }

    @Test(arguments: [
        ("gzip", true), ("gzip, br", true), ("br, GZIP", true), ("x-gzip", true), ("*", true), ("gzip;q=0.001", true),
        ("gzip; q=0", false), ("gzip;q=0.000", false), ("*;q=0", false), ("br", false), ("", false),
        ("*, gzip;q=0", false), ("*;q=0, gzip", true), ("gzipped", false),
    ])
    func acceptEncodingGzip(value: String, expected: Bool) {
        #expect(([.acceptEncoding: value] as HTTPFields).acceptsGzip == expected)
    }

    @Test(arguments: [
        ("dcz", true), ("gzip, dcz", true), ("dcz;q=0.5", true), (" DCZ ; q=1 ", true), ("dcz;q=0", false),
        ("gzip, dcz; q=0.0", false), ("*", false), ("x-dcz", false), ("", false),
    ])
    func acceptEncodingDelta(value: String, expected: Bool) throws {
        let name = try #require(HTTPField.Name("Available-Dictionary"))
        let digest = ":\(String(repeating: "A", count: 43))=:"
        #expect((([.acceptEncoding: value, name: digest] as HTTPFields).dictionary != nil) == expected)
    }

    @Test(arguments: [
        ("text/html", true), ("text/html,application/xml;q=0.9,*/*;q=0.8", true), ("TEXT/HTML;level=1", true),
        ("*/*", false), ("text/*", false), ("application/json", false), ("text/html;q=0, */*", false),
        ("text/htmlish", false),
    ])
    func acceptHTMLMeansBrowser(value: String, expected: Bool) {
        #expect(([.accept: value] as HTTPFields).accepts("text/html") == expected)
    }

    private let time = Timestamp(milliseconds: 784_111_777_500)

    @Test(
        arguments: [
            ([.ifNoneMatch: "\"a\""], true), ([.ifNoneMatch: "\"b\", W/\"a\""], true), ([.ifNoneMatch: "*"], true),
            ([.ifNoneMatch: "\"b\""], false), ([.ifNoneMatch: "a"], false),
            ([.ifModifiedSince: "Sun, 06 Nov 1994 08:49:37 GMT"], true),
            ([.ifModifiedSince: "Sun, 06 Nov 1994 08:49:36 GMT"], false), ([.ifModifiedSince: "yesterday"], false),
            ([.ifNoneMatch: "\"b\"", .ifModifiedSince: "Sun, 06 Nov 1994 08:49:37 GMT"], false), ([:], false),
        ] as [(HTTPFields, Bool)])
    func conditionalRequestIsNotModified(headers: HTTPFields, expected: Bool) {
        #expect(headers.isNotModified(tag: "\"a\"", lastModified: time) == expected)
    }

    @Test(
        arguments: [
            ([:], true), ([.ifRange: "\"a\""], true), ([.ifRange: "\"b\""], false), ([.ifRange: "W/\"a\""], false),
            ([.ifRange: "Sun, 06 Nov 1994 08:49:37 GMT"], true), ([.ifRange: "Sun, 06 Nov 1994 08:49:38 GMT"], false),
        ] as [(HTTPFields, Bool)])
    func ifRangeMustMatchTheFile(headers: HTTPFields, expected: Bool) {
        #expect(headers.allowsRange(tag: "\"a\"", lastModified: time) == expected)
    }

    @Test(arguments: [
        ("/a?b=c", "/a", "b=c"), ("/a", "/a", nil), ("/a?", "/a", ""), ("/a?b?c", "/a", "b?c"),
        ("/a%3fb", "/a%3fb", nil),
    ])
    func requestPathEndsAtQuestionMark(text: String, path: String, query: String?) {
        let target = RequestTarget(text)
        #expect(String(target.path) == path)
        #expect(target.query.map(String.init) == query)
    }

    @Test func clientNetworkOfAddress() throws {
        func network(_ address: String) throws -> UInt64 {
            ConnectionTable.network(try SocketAddress(ipAddress: address, port: 1))
        }
        #expect(try network("2001:db8:1:2::1") == network("2001:db8:1:2:ffff::9"))
        #expect(try network("2001:db8:1:2::1") != network("2001:db8:1:3::1"))
        #expect(try network("192.0.2.7") == network("::ffff:192.0.2.7"))
        #expect(try network("192.0.2.7") != network("192.0.2.8"))
        #expect(try network("::1") != network("192.0.2.7"))
    }
}
