import RemoteSettingsModel
@testable import TargetFilter
import Testing

/// `regExpMatch`; the expected values come from `String.prototype.match` in a JavaScript engine.
struct RegularExpressionTests {
    private func match(_ text: String, _ pattern: String, _ flags: String = "") throws -> FilterValue {
        let root: FilterObject = ["text": .string(text), "pattern": .string(pattern), "flags": .string(flags)]
        return try FilterExpression(parsing: "text|regExpMatch(pattern, flags)").evaluate(in: FilterContext(root: root))
    }

    @Test(
        arguments: [
            ("foobar", "^foo(.+?)$", "", ["foobar", "bar"]), ("FOObar", "^foo(.+?)$", "i", ["FOObar", "bar"]),
            ("F00bar", "^foo(.+?)$", "i", .null), ("abc", "", "", [""]), ("abcabc", "b.", "g", ["bc", "bc"]),
            ("aaa", "a*?", "g", ["", "", "", ""]), ("xay", "(a)|(b)", "", ["a", "a", .undefined]),
            ("aab", "(?:a|(b))+", "", ["aab", "b"]), ("ba", "(?:a|(b))+", "", ["ba", .undefined]),
            ("abab", #"(ab)\1"#, "", ["abab", "ab"]), ("ab", #"(?<x>a)\k<x>?b"#, "", ["ab", "a"]),
            ("a1_é", #"^\w+"#, "", ["a1_"]), ("a b", #"a\sb"#, "", ["a b"]), ("a\u{2028}b", "a.b", "", .null),
            ("a\nb", "a.b", "s", ["a\nb"]), ("a\nb", "^b$", "m", ["b"]), ("a\nb", "^b$", "", .null),
            ("foo bar", #"\bbar\b"#, "", ["bar"]), ("foobar", #"\Bbar"#, "", ["bar"]),
            ("aaaa", "a{2}", "g", ["aa", "aa"]), ("aaaa", "a{2,3}", "", ["aaa"]), ("aaaa", "a{2,3}?", "", ["aa"]),
            ("aaaa", "a{3,}", "", ["aaaa"]), ("a{,2}", "a{,2}", "", ["a{,2}"]), ("a]b-c", "[\\]-]", "g", ["]", "-"]),
            ("x^y", "[x^]", "g", ["x", "^"]), ("abc", "[^a]", "", ["b"]), ("abc", "[]", "", .null),
            ("abc", "[^]", "", ["a"]), ("A", "[^a]", "i", .null), ("ÀÉ", "[à-é]+", "i", ["ÀÉ"]),
            ("price: 5", #"price(?=: \d)"#, "", ["price"]), ("price: x", #"price(?!: \d)"#, "", ["price"]),
            ("price: 5", #"price(?!: \d)"#, "", .null), ("aXbX", "(?=(a))a(X)", "", ["aX", "a", "X"]),
            ("tab\there", #"\t\x68\u0065"#, "", ["\the"]), ("😀x", #"^\u{1F600}"#, "u", ["😀"]),
            ("😀", #"\uD83D\uDE00"#, "", ["😀"]), ("aaaaaab", "(a*)*c|b", "", ["b", .undefined]),
            ("", "(a*)*", "", ["", .undefined]), ("b", "(a*)+", "", ["", ""]),
            ("zaacbbbcac", "(z)((a+)?(b+)?(c))*", "", ["zaacbbbcac", "z", "ac", "a", .undefined, "c"]),
            ("baaac", "(?=(a+))", "", ["", "aaa"]), ("baaabac", #"(?=(a+))a*b\1"#, "", ["aba", "a"]),
            ("128.5.0esr", #"^(\d+)\.(\d+)"#, "", ["128.5", "128", "5"]), ("a/b", #"a\/b"#, "", ["a/b"]),
            ("x}", "x}", "", ["x}"]), ("ſ", "s", "i", .null), ("foo.bar", "foo.bar$", "", ["foo.bar"]),
            ("abc", "x*", "", [""]), ("b1", #"\b(?=(?:\b){2})(?:^)*b"#, "", ["b"]), ("aabb", #"[\w-]+?b"#, "", ["aab"]),
        ] as [(String, String, String, FilterValue)])
    func regExpMatchAsInJavaScript(_ text: String, _ pattern: String, _ flags: String, _ expected: FilterValue) throws {
        let found = try match(text, pattern, flags)
        #expect(found == expected, "\(pattern) in \(text) gave \(found), not \(expected)")
    }

    /// JavaScript rejects most of these too. It allows lookbehind, `\p` and the flag `y` and, without the flag `u`,
    /// unpaired surrogates, references to missing groups, and a class as the end of a range.
    @Test(arguments: [
        (#"[\w-b]"#, ""), ("(", ""), (")", ""), ("[", ""), ("a**", ""), ("*", ""), ("a{2,1}", ""), ("(?<=a)b", ""),
        (#"\p{L}"#, "u"), (#"\1"#, ""), ("[b-a]", ""), ("\\", ""), (#"\k<x>"#, ""), ("(?<x>a)(?<x>b)", ""),
        ("(?x)", ""), ("a", "y"), ("a", "gg"), (#"\u{110000}"#, ""), (#"\uD83D"#, ""), ("^*", ""),
        ("(a{1000}){1000}", ""), ("(?:(?:){99999}){99999}", ""), ("((((a{9}){9}){9}){9})", ""),
    ])
    func invalidPatternIsRefused(_ pattern: String, _ flags: String) throws {
        let error = #expect(throws: Failure.self) { try match("aaa", pattern, flags) }
        let prefix = "at byte 5 of the filter expression: invalid regular expression: "
        #expect(error?.description.hasPrefix(prefix) == true, "\(pattern) gave \(String(describing: error))")
    }

    /// Patterns that take exponential time to fail in a backtracking engine.
    @Test(arguments: [
        ("(a*)*b", 40), ("(a+)+$x", 40), ("(a|aa)+b", 60), ("(.*)*=.*x", 5000), (#"^(([a-z])+.)+[A-Z]([a-z])+$"#, 60),
        ("(?=(a+)+b)c", 50), ("(a?){50}a{50}b", 50), ("((a{0,9}){0,9}){0,5}b", 60), ("(.*)(.*)(.*)(.*)(.*)x", 3000),
    ])
    func exponentialPatternIsStopped(_ pattern: String, _ length: Int) throws {
        let text = String(repeating: "a", count: length)
        #expect(throws: Failure.tooMuchWork(limit: FilterLimits.steps)) { try match(text, pattern) }
    }

    @Test func patternSizeIsLimited() throws {
        let longest = String(repeating: "a", count: FilterLimits.patternScalars)
        _ = try match("a", longest)
        #expect(throws: Failure.self) { try match("a", longest + "a") }
        let nested = String(repeating: "(", count: 200) + String(repeating: ")", count: 200)
        #expect(throws: Failure.self) { try match("a", nested) }
    }
}
