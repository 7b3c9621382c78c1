import RemoteSettingsModel
import SnapshotServer
import Testing

/// Records and attachments that try to run scripts in the page, or to look like something else.
struct HostileContentTests {
    static let texts = [
        "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "javascript:alert(1)", "</title><script>",
        "'onmouseover='alert(1)", "</textarea></style></script><svg onload=alert(1)>", "&lt;script&gt;", "<!-- -->",
        "]]><x>", "{{7*7}}", "\u{0}<scr\u{0}ipt>", "%3Cscript%3E",
    ]

    private func fixture(_ text: String) -> PageFixture {
        var fixture = PageFixture()
        fixture.records = ["one": ["name": .string(text), text: .array([.string(text), .object([])])]]
        fixture.files = ["one": (text, text, Array(text.replacing("\u{0}", with: "").utf8))]
        fixture.older = [(1, ["one": ["name": .string(text + text), text: .string(text)]])]
        fixture.pin = text
        fixture.problem = text
        return fixture
    }

    @Test(arguments: texts)
    func pageEscapesHostileText(text: String) async throws {
        let paths = [
            "/", "/collections/main/samples", "/collections/main/samples/records/one",
            "/collections/main/samples/changes", "/?q=%22%3E%3Cscript%3E",
            "/collections/main/samples?q=%22%3E%3Cimg%20src%3Dnone",
        ]
        let plain = fixture("plain")
        for path in paths {
            let hostile = try await fixture(text).answer(path)
            #expect(hostile.status == 200)
            // The page has exactly the elements and attributes that it has with a harmless text.
            #expect(Self.markup(hostile.text) == Self.markup(try await plain.answer(path).text), "\(path)")
        }
    }

    /// Returns the document's tags with the names of their attributes; all values are in double quotes.
    private static func markup(_ html: String) -> [String] {
        var tags: [String] = []
        var rest = html[...]
        while let start = rest.firstIndex(of: "<") {
            rest = rest[rest.index(after: start)...]
            var tag = ""
            var isQuoted = false
            while let next = rest.popFirst(), isQuoted || next != ">" {
                if next == "\"" { isQuoted.toggle() }
                if !isQuoted { tag.append(next) }
            }
            // Marks of hidden characters depend on the text.
            if tag != "span class=\"" { tags.append(tag) }
        }
        return tags.filter { !$0.hasSuffix("span") && !$0.hasPrefix("span class") }
    }

    @Test func pageShowsInvisibleCharacters() async throws {
        let text = try await fixture("in\u{202E}txt.\u{200B}\u{1B}[31m").answer("/collections/main/samples").text
        for name in ["U+202E", "U+200B", "U+001B"] { #expect(text.contains(">\(name)</span>")) }
        let isClean = !text.unicodeScalars.contains { [0x202E, 0x200B, 0x1B].contains($0.value) }
        #expect(isClean)
    }

    @Test func pageContentSecurityPolicyForbidsScripts() async throws {
        let policy = try #require(try await PageFixture().answer("/")[header: "content-security-policy"])
        for rule in [
            "default-src 'none'", "style-src 'sha256-", "img-src 'self'", "form-action 'self'", "base-uri 'none'",
            "frame-ancestors 'none'",
        ] {
            #expect(policy.contains(rule))
        }
        #expect(!policy.contains("unsafe") && !policy.contains("script-src"))
        #expect(try await PageFixture().answer("/")[header: "X-Content-Type-Options"] == "nosniff")
        #expect(try await !PageFixture().answer("/").text.contains("<script"))
    }

    @Test(
        arguments: [
            ("image/png", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png", "inline"),
            ("text/html", Array("GIF89a<script>".utf8), "image/gif", "inline"),
            ("image/svg+xml", Array("<svg onload='alert(1)'/>".utf8), "image/svg+xml", "attachment"),
            ("image/svg+xml", Array("<?xml version='1.0'?>\n<svg/>".utf8), "image/svg+xml", "attachment"),
            ("image/png", Array("<html><script>alert(1)</script>".utf8), "application/octet-stream", "attachment"),
            ("text/html", Array("<html><svg></svg>".utf8), "application/octet-stream", "attachment"),
            ("text/javascript", Array("alert(1)".utf8), "application/octet-stream", "attachment"),
            ("application/pdf", Array("%PDF-1.7".utf8), "application/octet-stream", "attachment"),
        ] as [(String, [UInt8], String, String)])
    func pageAttachmentTypeIsSniffed(type: String, bytes: [UInt8], served: String, disposition: String) async throws {
        var fixture = PageFixture()
        fixture.files = ["one": ("a\"; x=\r\nEvil: 1<b>ü.html", type, bytes)]
        let shown = try await fixture.answer("/collections/main/samples/records/one/attachment")
        #expect(shown[header: "Content-Type"] == served)
        #expect(shown[header: "Content-Disposition"]?.hasPrefix(disposition) == true)
        let download = try await fixture.answer("/collections/main/samples/records/one/download")
        #expect(download[header: "Content-Type"] == "application/octet-stream")
        for answer in [shown, download] {
            #expect(answer[header: "Content-Security-Policy"]?.hasPrefix("sandbox; default-src 'none'") == true)
            #expect(answer[header: "X-Content-Type-Options"] == "nosniff")
            #expect(answer.text.utf8.elementsEqual(String(decoding: bytes, as: UTF8.self).utf8))
            let isPlain = answer.headers.allSatisfy { $0.value.utf8.allSatisfy { (0x20...0x7E).contains($0) } }
            #expect(isPlain)
        }
        // A file name with control characters is dropped.
        #expect(download[header: "Content-Disposition"]?.contains("Evil") == false)
    }

    @Test func pagePreviewsTextAttachmentsOnly() async throws {
        var fixture = PageFixture()
        fixture.files = ["one": ("a.txt", "text/plain", Array("<script>alert(1)</script> ü".utf8))]
        let text = try await fixture.answer("/collections/main/samples/records/one").text
        #expect(text.contains("&lt;script&gt;alert(1)&lt;/script&gt; ü"))
        fixture.files = ["one": ("a.bin", "text/plain", [0, 1, 2, 255])]
        #expect(
            try await !fixture.answer("/collections/main/samples/records/one").text.contains("Text of the attachment"))
        // The displayed part ends within a character.
        fixture.files = ["one": ("long", "", Array(String(repeating: "aü", count: 60_000).utf8))]
        let long = try await fixture.answer("/collections/main/samples/records/one").text
        #expect(long.contains("Only the first 64.0 KiB are shown") || long.contains("Only the first 64 KiB are shown"))
    }
}
