@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

@Suite("Servers and attachments") struct ServerURLTests {
    @Test(arguments: [
        ("prod", "https://firefox.settings.services.mozilla.com/v2"),
        ("stage", "https://firefox.settings.services.allizom.org/v2"),
        ("dev", "https://remote-settings-dev.allizom.org/v2"),
        ("https://host/v1", "https://host/v1"),
        ("https://host/v1/", "https://host/v1"),
        ("https://host/behind/v2///", "https://host/behind/v2"),
        ("https://host", "https://host/v2"), ("https://host/", "https://host/v2"),
        ("https://host/behind", "https://host/behind/v2"),
        ("http://localhost:8888/v1", "http://localhost:8888/v1"),
        ("http://127.0.0.1:8888/v1", "http://127.0.0.1:8888/v1"),
        ("http://[::1]:8888/v1", "http://[::1]:8888/v1"),
    ])
    func serverURLIsCompleted(_ text: String, _ expected: String) throws {
        let server = try ServerURL(text)
        #expect(server.description == expected)
        #expect(server.root.description == expected + "/")
    }

    @Test(arguments: ["production", "https://host/v3", "https://host/v10", "https://host/v1?x", "https://u:p@host/v1"])
    func invalidServerURLIsRefused(_ text: String) {
        let error = #expect(throws: Failure.self) { try ServerURL(text) }
        #expect(error?.code == .usage)
        #expect(error?.reason != .insecure)
    }

    @Test func plainHTTPNeedsPermission() throws {
        let error = #expect(throws: Failure.self) { try ServerURL("http://host/v1") }
        #expect(error == Failure("http://host/v1", .insecure))
        #expect(try ServerURL("http://host/v1", allowPlainHTTP: true).description == "http://host/v1")
    }

    @Test func attachmentsURLMustBeHTTPS() throws {
        let server = try ServerURL("https://host/v1")
        #expect(try AttachmentsURL("https://cdn.example/", of: server).description == "https://cdn.example/")
        #expect(try AttachmentsURL("https://cdn.example/x", of: server).description == "https://cdn.example/x/")
        #expect(try AttachmentsURL("../attachments/", of: server).description == "https://host/attachments/")
        for text in ["http://cdn.example/", "http://localhost/", "https://cdn.example/?x", "ftp://cdn.example/"] {
            #expect(throws: Failure.self) { try AttachmentsURL(text, of: server) }
        }
        let allowed = try ServerURL("https://host/v1", allowPlainHTTP: true)
        #expect(throws: Failure.self) { try AttachmentsURL("http://cdn.example/", of: allowed) }
        let plain = try ServerURL("http://localhost:8888/v1")
        #expect(try AttachmentsURL("http://localhost:9/a/", of: plain).description == "http://localhost:9/a/")
        #expect(throws: Failure.self) { try AttachmentsURL("http://cdn.example/", of: plain) }
    }

    @Test(arguments: [
        ("main-workspace/markets/0fe5.json", "main-workspace/markets/0fe5.json"),
        ("a b/ü%20.bin", "a%20b/%C3%BC%20.bin"),
        ("a/b:c", "a/b:c"), ("...", "..."), ("a..b/c", "a..b/c"), ("a//b", "a//b"), ("a/", "a/"),
    ])
    func attachmentLocationIsEncoded(_ location: String, _ expected: String) throws {
        let base = try AttachmentsURL("https://cdn.example/base", of: .production)
        #expect(try base.attachment(location).description == "https://cdn.example/base/" + expected)
    }

    @Test(arguments: [
        "", "/a", "//host/a", "https://host/a", "file:a", "a:b", "..", "../a", "a/../b", "a/..", "./a", "a/./b",
        "%2e%2e/a", "a/.%2E/b", "a/%2e/b", "a\\b", "..\\a", "a%5cb", "a%2fb", "%2F", "a\u{0}b", "a%00b", "a\nb",
        "a%0d%0ab", "a?b", "a#b", "a%", "a%4", "a%gg", String(repeating: "a", count: 2049),
    ])
    func unsafeAttachmentLocationIsRefused(_ location: String) throws {
        let base = try AttachmentsURL("https://cdn.example/base/", of: .production)
        let error = #expect(throws: Failure.self) { try base.attachment(location) }
        #expect(error?.code == .usage)
    }
}
