@testable import RemoteSettingsModel
import Testing

struct JSONStringTests {
    private func text(_ string: String, _ escapes: JSONString.Escapes) -> String {
        var output: [UInt8] = []
        JSONString.append(string, escapes, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    @Test func `Each form escapes what it says`() {
        let string = "\"\\/\u{1}\u{8}\t\n\u{C}\r\u{1F} ~\u{7F}\u{80}é😀"
        #expect(text(string, .shortest) == #""\"\\/\u0001\b\t\n\f\r\u001f ~"# + "\u{7F}\u{80}é😀\"")
        #expect(text(string, .terminal) == #""\"\\/\u0001\u0008\u0009\n\u000c\u000d\u001f ~\u007f"# + "\u{80}é😀\"")
        #expect(
            text(string, .ascii)
                == #""\"\\/\u0001\u0008\u0009\u000a\u000c\u000d\u001f ~\u007f\u0080\u00e9\ud83d\ude00""#)
    }
}

struct ByteSearchTests {
    private func first(_ pattern: String, in text: String, ignoresCase: Bool = false) -> Int? {
        Bytes(utf8: text).withSpan { ByteSearch(pattern.utf8, ignoresCase: ignoresCase).first(in: $0) }
    }

    @Test func `The first of several is found`() {
        #expect(first("ab", in: "aabab") == 1)
        #expect(first("abab", in: "abaabab") == 3)
        #expect(first("a", in: "bba") == 2)
        #expect(first("abc", in: "ab") == nil)
        #expect(first("x", in: "") == nil)
        #expect(first("", in: "a") == 0)
    }

    @Test func `Case matters only where it should`() {
        #expect(first("AbC", in: "xxaBc") == nil)
        #expect(first("AbC", in: "xxaBc", ignoresCase: true) == 2)
        #expect(first("[@", in: "{`", ignoresCase: true) == nil)
        #expect(first("abcabd", in: "ABCABCABD", ignoresCase: true) == 3)
    }

    @Test func `It finds what a plain comparison finds`() {
        var state: UInt32 = 7
        func next(_ count: Int) -> [UInt8] {
            (0..<count).map { _ in
                state = state &* 1_664_525 &+ 1_013_904_223
                return UInt8(ascii: "a") + UInt8(state >> 30)
            }
        }
        for _ in 0..<2000 {
            let (text, pattern) = (next(40), next(1 + Int(state >> 29)))
            let expected = (0...text.count - pattern.count).first { text[$0...].starts(with: pattern) }
            #expect(ByteSearch(pattern).first(in: text.span) == expected)
        }
    }
}

struct PercentEncodingTests {
    @Test func `Decoding`() {
        #expect(PercentEncoding.decode("a%20b%C3%A9+") == "a bé+")
        #expect(PercentEncoding.decode("a+b", plusIsSpace: true) == "a b")
        #expect(PercentEncoding.decode("100%, %zz, %4") == "100%, %zz, %4")
        #expect(PercentEncoding.decode("%FF") == "\u{FFFD}")
    }

    @Test func `Strict decoding`() {
        #expect(PercentEncoding.strictlyDecode("a%20b+") == "a b+")
        #expect(PercentEncoding.strictlyDecode("a%2Bb+c", plusIsSpace: true) == "a+b c")
        for text in ["%", "%4", "%zz", "a%2", "%FF", "%%41"] { #expect(PercentEncoding.strictlyDecode(text) == nil) }
    }

    @Test func `Encoding`() {
        #expect(PercentEncoding.component("a b/é~") == "a%20b%2F%C3%A9~")
        #expect(PercentEncoding.complete("/a b?c=%41") == "/a%20b?c=%41")
        #expect(PercentEncoding.complete("%4") == nil)
    }
}

struct VisibleTextTests {
    private static let texts = [
        "", "a", String(repeating: "k", count: 5_000), "a" + String(repeating: "\u{301}", count: 5_000),
        String(repeating: "\u{7F}", count: 5_000), String(repeating: "\u{E0001}", count: 5_000),
        String(repeating: "\"\\\n", count: 5_000), String(repeating: "😀", count: 5_000),
    ]

    @Test(arguments: texts) func `What a message quotes is bounded after escaping`(text: String) {
        #expect(VisibleText.quote(text).utf8.count <= VisibleText.quotedBytes + 5)
        #expect(VisibleText.beginning(text, limit: 100).shown.utf8.count <= 100)
        let excerpt = VisibleText.excerpt(text, limit: 100)
        #expect(excerpt.utf8.count <= 100 && VisibleText.excerpt(excerpt, limit: 100) == excerpt)
        #expect(VisibleText.excerpt(text, limit: .max) == VisibleText.escape(text))
        let quoted = VisibleText.quote(text)
        #expect(VisibleText.escape(quoted) == quoted)
    }

    @Test(arguments: [
        0x3164, 0x115F, 0x1160, 0xFFA0, 0x2800, 0x34F, 0x180B, 0x180E, 0x17B4, 0xE0100, 0xE01EF, 0xFE00, 0xFE0E, 0xFE0F,
        0x200B, 0x200D, 0x2065, 0xFFF0, 0xE0000, 0xE0FFF, 0xAD, 0x202E, 0x1D173,
    ])
    func `Invisible characters are escaped`(value: UInt32) throws {
        let scalar = String(try #require(Unicode.Scalar(value)))
        let escape = "\\u{\(String(value, radix: 16))}"
        for text in ["*", "a*b", "1*", "é*é", "a*😀"] {
            let expected = text.replacing("*", with: escape)
            #expect(VisibleText.escape(text.replacing("*", with: scalar)).exact == expected.exact)
        }
    }

    @Test(arguments: [
        "❤️", "👩‍👩‍👧", "❤️‍🔥", "👁️‍🗨️", "👍🏽", "👩🏽‍🚀", "⌚︎", "🇸🇪", "©️", "é", "日本", "ελ",
    ])
    func `Emoji are not escaped`(text: String) { #expect(VisibleText.escape("a\(text)b").exact == "a\(text)b".exact) }

    @Test func `What is invisible in an emoji is escaped`() {
        for (text, expected) in [
            ("😀\u{FE0F}", "😀\\u{fe0f}"), ("😀\u{200D}", "😀\\u{200d}"), ("😀\u{200D}a", "😀\\u{200d}a"),
            ("❤\u{FE0F}\u{FE0F}", "❤\u{FE0F}\\u{fe0f}"), ("❤\u{FE0E}", "❤\\u{fe0e}"),
            ("👩\u{200D}\u{200D}👧", "👩\\u{200d}\\u{200d}👧"), ("1\u{FE0F}", "1\\u{fe0f}"),
        ] { #expect(VisibleText.escape(text).exact == expected.exact) }
        for limit in 40..<80 {
            let excerpt = VisibleText.excerpt(String(repeating: "👩\u{200D}", count: 50) + "👧", limit: limit)
            #expect(VisibleText.escape(excerpt).exact == excerpt.exact && excerpt.utf8.count <= limit)
        }
    }

    @Test func `A text that was cut says so`() {
        let long = String(repeating: "é", count: 100)
        #expect(VisibleText.excerpt(long, limit: 40) == "\(long.prefix(12))… (200 bytes)")
        #expect(VisibleText.quote("a\"b") == #""a\"b""#)
    }

    @Test func `Messages of errors are bounded`() {
        let key = String(repeating: "k\u{301}", count: 1_000_000)
        let errors: [any CustomStringConvertible] = [
            Failure(.duplicateKey(key), at: 0), Failure.duplicateRecord(key), Failure.invalidRecordID(key),
            Failure.invalidAttachment(record: key, problem: key),
        ]
        for error in errors { #expect(error.description.utf8.count < 3_000) }
    }
}
