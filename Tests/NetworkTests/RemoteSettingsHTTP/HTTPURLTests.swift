@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

@Suite("URLs") struct HTTPURLTests {
    @Test(arguments: [
        ("https://host", "https://host/"),
        ("HTTPS://Host.Example:443/A/b", "https://host.example/A/b"),
        ("http://host:80/", "http://host/"),
        ("http://host:8080", "http://host:8080/"),
        ("http://host:/x", "http://host/x"),
        ("https://[::1]:8443/v1", "https://[::1]:8443/v1"),
        ("https://host/a/./b/../c", "https://host/a/c"),
        ("https://host/a/%2e%2E/c", "https://host/c"),
        ("https://host/../../x", "https://host/x"), ("https://host/a/b/..", "https://host/a/"),
        ("https://host/.a/..b/...", "https://host/.a/..b/..."), ("https://host//a//", "https://host//a//"),
        ("https://host/a/%2e", "https://host/a/"),
        ("https://host/a b/\"<>^`{|}é", "https://host/a%20b/%22%3C%3E%5E%60%7B%7C%7D%C3%A9"),
        ("https://host/%41%zz?".replacing("%zz", with: "%7a"), "https://host/%41%7a?"),
        ("https://host/x?q=a b&r=%22#part", "https://host/x?q=a%20b&r=%22"),
        ("https://host?q", "https://host/?q"),
        ("https://host/x?y://z/..", "https://host/x?y://z/.."),
    ])
    func urlIsNormalised(_ text: String, _ expected: String) throws {
        let url = try HTTPURL(text)
        #expect(url.description == expected)
        #expect(try HTTPURL(url.description) == url)
    }

    @Test(arguments: [
        "", "host/v1", "//host/v1", "/v1", "ftp://host/", "file:///etc/passwd", "https:/v1", "https:v1", "https://",
        "https:///v1", "https://user@host/", "https://user:secret@host/", "https://host:0/", "https://host:65536/",
        "https://host:8a/", "https://host:-1/", "https://ho st/", "https://höst/", "https://host%2eexample/",
        "https://.host/", "https://a..b/", "https://[::1/", "https://[]/", "https://[::1]x/", "https://[nope]/",
        "https://host/\u{0}", "https://host/\n", "https://host/a\r\nHost: x", "https://host\\@other/",
        "https://host/a\\b", "https://host/%", "https://host/%4", "https://host/%zz", "https://host/?%g0",
        "https://" + String(repeating: "a", count: 254) + "/", "https://host/" + String(repeating: "a", count: 9000),
    ])
    func invalidURLIsRefused(_ text: String) {
        let error = #expect(throws: Failure.self) { try HTTPURL(text) }
        #expect(error?.code == .usage)
        #expect(error?.description.contains("secret") == false)
        #expect(error?.description.contains("\n") == false)
    }

    @Test func passwordsAreNotShown() {
        for text in [
            "https://user:secret@host/", "https://user:secret@host/\u{1}", "ftp://:secret@host?a@b", "//secret@h",
        ] {
            let error = #expect(throws: Failure.self) { try HTTPURL(text) }
            #expect(error?.description.contains("secret") == false)
            #expect(error?.place.contains("//…@h") == true)
        }
        #expect(Failure("https://host/a@b", .cancelled).place == "https://host/a@b")
    }

    @Test func hostileTextIsShownWithoutControlCharacters() {
        let error = #expect(throws: Failure.self) { try HTTPURL("https://host/\u{9B}31m\u{7}") }
        #expect(error?.description.unicodeScalars.allSatisfy { $0.value > 0x1F && $0.value != 0x9B } == true)
    }

    /// The hierarchical examples of RFC 3986 §5.4. Fragments are removed from the results.
    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), (";x", "http://a/b/c/;x"),
        ("g;x", "http://a/b/c/g;x"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
        ("../../", "http://a/"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"),
        ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."),
        (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"), ("#s", "http://a/b/c/d;p?q"),
        ("g#s/../x", "http://a/b/c/g"), ("https://other/x", "https://other/x"),
    ])
    func urlReferenceIsResolved(_ reference: String, _ expected: String) throws {
        #expect(try HTTPURL("http://a/b/c/d;p?q").resolving(reference).description == expected)
    }

    @Test(arguments: ["g:h", "http:g", "javascript:alert(1)", "1:2", "//user@host/", "a\\b", "%"])
    func invalidURLReferenceIsRefused(_ reference: String) throws {
        let base = try HTTPURL("http://a/b/c/d")
        #expect(throws: Failure.self) { try base.resolving(reference) }
    }

    @Test(arguments: [
        ("http://localhost/", true), ("http://LOCALHOST:1/", true), ("http://127.0.0.1/", true),
        ("http://127.255.0.3/", true), ("http://[::1]/", true), ("http://127.0.0.1.example/", false),
        ("http://128.0.0.1/", false), ("http://localhost.example/", false), ("http://127.1/", false),
        ("http://127.0.0.01/", false), ("http://127.0.0.256/", false), ("http://[::2]/", false),
        ("http://10.127.0.1/", false),
    ])
    func loopbackHostsAreRecognised(_ text: String, _ expected: Bool) throws {
        #expect(try HTTPURL(text).isLoopback == expected)
    }

    /// Each quotation mark becomes three bytes when percent-encoded, so a short string can exceed the URL length limit.
    @Test func urlLengthLimitCountsEncodedBytes() throws {
        let quotes = { String(repeating: "\"", count: $0) }
        let base = try HTTPURL("https://example.org:8443/v1/")
        let room = 8192 - "\(base)".utf8.count
        #expect("\(try base.resolving(quotes(room / 3)))".utf8.count <= 8192)
        #expect(throws: Failure.self) { try base.resolving(quotes(room / 3 + 1)) }
        #expect(throws: Failure.self) { try HTTPURL("\(base)" + quotes(room / 3 + 1)) }
        #expect(throws: Failure.self) { try HTTPURL("\(base)?" + quotes(room / 3 + 1)) }
        let longest = try HTTPURL("\(base)" + quotes(room / 3))
        #expect(try HTTPURL("\(longest)") == longest)
    }

    @Test func queryValues() throws {
        let url = try HTTPURL("https://host/?a=1&b=%22x%22&a=2&c&%5Fsince=7")
        #expect(url.queryValue("a") == "1")
        #expect(url.queryValue("b") == "\"x\"")
        #expect(url.queryValue("c") == "")
        #expect(url.queryValue("_since") == "7")
        #expect(url.queryValue("d") == nil)
    }
}
