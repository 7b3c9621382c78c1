import RemoteSettingsModel
import Testing

@testable import DumpsExchange

struct DumpTextTests {
    private func record(_ text: String, keys: DumpStyle.KeyOrder, indent: Int?) throws -> String {
        let value = try JSONValue(parsing: Bytes(utf8: text))
        return String(decoding: DumpText.record(value, keys: keys, indent: indent), as: UTF8.self)
    }

    @Test func dumpMembersAreOrderedAsServed() throws {
        let text = try record(
            #"{"aaaa":1,"b":{"zz":1,"y":2,"id":3},"id":"r","last_modified":7,"z":[{"cc":1,"d":2}]}"#, keys: .served,
            indent: nil)
        #expect(text == #"{"b":{"y":2,"id":3,"zz":1},"z":[{"d":2,"cc":1}],"aaaa":1,"id":"r","last_modified":7}"#)
    }

    @Test(arguments: [
        ("1.5E0", "1.5"), ("5E-1", "0.5"), ("1E0", "1.0"), ("-2.5E-3", "-0.0025"),
        ("18446744073709551615", "18446744073709551615"),
        ("0", "0"), ("1E21", "1e+21"),
    ])
    func numbersAreWrittenPlainly(_ canonical: String, _ plain: String) throws {
        #expect(try record("[\(canonical)]", keys: .sorted, indent: nil) == "[\(plain)]")
    }

    @Test func dumpStringsAreEscaped() throws {
        #expect(
            try record(#"["\u0001\b\f\n\r\t\"\\/é\u007f😀"]"#, keys: .sorted, indent: nil)
                == "[\"\\u0001\\b\\f\\n\\r\\t\\\"\\\\/é\u{7F}😀\"]")
    }

    @Test func emptyListsAndObjectsStayOnOneLine() throws {
        #expect(
            try record(#"{"a":[],"b":{},"c":[1]}"#, keys: .sorted, indent: 2)
                == "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1\n  ]\n}")
    }

    @Test(
        arguments: [
            ("{\n  \"data\": []\n}\n", nil), ("{\n    \"data\": []\n}", (4, false)), ("{\"data\":[]}", (0, false)),
            ("{\n  \"data\": []\n}", (2, false)),
        ] as [(String, (Int, Bool)?)])
    func foreignStyleIsDetected(_ text: String, _ expected: (Int, Bool)?) throws {
        let id = try CollectionID("main/example")
        let seen = DumpStyle.seen(in: Bytes(utf8: text), of: .firefox(id))
        #expect(seen?.indent == expected?.0 && seen?.endsWithNewline == expected?.1)
        let metadata = DumpMetadata.make(id, seen)
        #expect(DumpMetadata.style(metadata, of: .firefox(id)) == seen ?? .firefox(id))
    }
}
