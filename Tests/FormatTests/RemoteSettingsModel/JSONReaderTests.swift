import Testing

@testable import RemoteSettingsModel

struct JSONReaderTests {
    private func parse(_ text: String) throws(Failure) -> JSONValue {
        try JSONValue(parsing: Bytes(utf8: text))
    }

    private func parse(bytes: [UInt8]) throws(Failure) -> JSONValue {
        try JSONValue(parsing: Bytes(bytes))
    }

    @Test func jsonKeepsOrderAndNumbers() throws {
        let value = try parse(#" {"b": [1.50, -0, 1E+2, 12345678901234567890123], "a": {"é\u0041\n": null}} "#)
        guard case .object(let members) = value else { return #expect(Bool(false)) }
        #expect(members.map(\.key) == ["b", "a"])
        #expect(value["b"]?.array?.map { $0.number?.text } == ["1.50", "-0", "1E+2", "12345678901234567890123"])
        #expect(value["a"]?["éA\n"] == .null)
    }

    @Test(arguments: [
        "", " ", "{", "[", "[1", "[1,", "[1,]", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "[1 2]", "01",
        "1.", ".5", "+1", "-", "1e", "1e+", "0x1", "NaN", "Infinity", "tru", "nul", "truex", "'a'", "\"", "\"\\",
        "\"\\x\"", "\"\\u12g4\"", "\"\\u12", "\"a\nb\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\\ud800\"",
        "1 2", "[] []", "{} x", "\u{FEFF}1", "[1}", "{\"a\":1]", "// c\n1", "[\"a\":1]",
    ])
    func invalidJSONIsRefused(_ text: String) {
        #expect(throws: Failure.self) { try parse(text) }
        #expect(throws: Failure.self) { try CanonicalJSON.canonicalize(Bytes(utf8: text)) }
        #expect(throws: Failure.self) {
            var reader = JSONReader(Bytes(utf8: text))
            try reader.skipValue()
            try reader.finish()
        }
    }

    /// A captive portal or a failing gateway responds with an HTML page.
    @Test(arguments: ["<html><body>Sign in</body></html>", "\n <!DOCTYPE html>"])
    func htmlInsteadOfJSONIsNamed(_ page: String) throws {
        let value = #expect(throws: Failure.self) { try parse(page) }
        let monitor = #expect(throws: Failure.self) { try MonitorChangeset(parsing: Bytes(utf8: page)) }
        let changeset = #expect(throws: Failure.self) { try Changeset(parsing: Bytes(utf8: page)) }
        #expect(value?.description.hasPrefix("an HTML page where a value is expected") == true)
        #expect(monitor?.description.hasPrefix("an HTML page where an object is expected") == true)
        #expect(changeset?.description == monitor?.description)
    }

    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE2, 0x82], [0xF0, 0x9F, 0x98],
        ] as [[UInt8]])
    func invalidUTF8IsRefused(_ bytes: [UInt8]) {
        let document = [0x22] + bytes + [0x22]
        #expect(throws: Failure.self) { try parse(bytes: document) }
        #expect(throws: Failure.self) { try CanonicalJSON.canonicalize(Bytes(document)) }
    }

    @Test(arguments: [#"{"a":1,"a":2}"#, #"{"a":1,"b":{},"\u0061":2}"#, #"[{"x":{"é":1,"\u00e9":1}}]"#])
    func duplicateKeyIsRefused(_ text: String) {
        func isDuplicate(_ error: any Error) -> Bool {
            (error as? Failure)?.description.contains("appears twice in one object") == true
        }
        #expect { try parse(text) } throws: { isDuplicate($0) }
        #expect { try CanonicalJSON.canonicalize(Bytes(utf8: text)) } throws: { isDuplicate($0) }
    }

    @Test func jsonDepthIsLimited() throws {
        let deepest = String(repeating: "[", count: 128) + String(repeating: "]", count: 128)
        #expect(try parse(deepest) != .null)
        let expected = Failure(.tooDeep(limit: 128), at: 128)
        #expect(throws: expected) { try parse("[\(deepest)]") }
        #expect(throws: expected) { try CanonicalJSON.canonicalize(Bytes(utf8: "[\(deepest)]")) }
        let hostile = Bytes([UInt8](repeating: UInt8(ascii: "["), count: 1_000_000))
        #expect(throws: Failure.self) { try JSONValue(parsing: hostile) }
        #expect(throws: Failure.self) { try CanonicalJSON.canonicalize(hostile) }
    }

    @Test func jsonMembersAndValuesAreLimited() throws {
        func parse(_ text: String) throws(Failure) -> JSONValue {
            try JSONValue(parsing: Bytes(utf8: text), members: 2, values: 7)
        }
        #expect(try parse(#"[{"a":1,"b":1},{"c":1,"d":1}]"#) != .null)
        let expected = Failure(.tooManyMembers(limit: 2), at: 13)
        #expect(throws: expected) { try parse(#"{"a":1,"b":1,"c":1}"#) }
        #expect(throws: expected) {
            var reader = JSONReader(Bytes(utf8: #"{"a":1,"b":1,"c":1}"#), members: 2)
            try reader.skipValue()
        }
        #expect(throws: Failure(.tooManyValues(limit: 7), at: 12)) { try parse("[1,[2,3,4,5,6]]") }
    }

    @Test func jsonErrorNamesLine() throws {
        let document = Bytes(utf8: "{\n  \"a\": 1,\n  \"b\": x\n}")
        let error = #expect(throws: Failure.self) { try JSONValue(parsing: document) }
        #expect(error?.line(in: document) == 3)
    }

    @Test func truncatedJSONIsRefused() {
        let whole = #"{"data":[{"id":"a","n":[1.5e-3,true,null,"é\ud83d\ude00"]}],"x":{"y":{}}}"#
        let bytes = Array(whole.utf8)
        for count in 0..<bytes.count {
            #expect(throws: Failure.self) { try parse(bytes: Array(bytes[..<count])) }
            #expect(throws: Failure.self) { try CanonicalJSON.canonicalize(Bytes(Array(bytes[..<count]))) }
        }
    }

    @Test func readerReadsAndSkipsInOrder() throws {
        var reader = JSONReader(Bytes(utf8: #"{"skip":[{"a":"]}"}],"n": 7,"s":"x","b":true,"e":[]}"#))
        try reader.beginObject()
        #expect(try reader.nextKey() == "skip")
        #expect(try reader.skipValue().text == #"[{"a":"]}"}]"#)
        #expect(try reader.nextKey() == "n")
        #expect(try reader.unsignedInteger() == 7)
        #expect(try reader.nextKey() == "s")
        #expect(throws: Failure.self) { try reader.number() }
        #expect(try reader.string() == "x")
        #expect(try reader.nextKey() == "b")
        #expect(try reader.bool())
        #expect(try reader.nextKey() == "e")
        try reader.beginArray()
        #expect(try !reader.nextElement())
        #expect(try reader.nextKey() == nil)
        try reader.finish()
    }
}
