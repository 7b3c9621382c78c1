import RemoteSettingsModel
import Testing

/// Two Unicode forms of é, which Swift's `String` considers equal.
struct ExactStringTests {
    private let one = "caf\u{E9}"
    private let two = "cafe\u{301}"

    @Test func unicodeFormsAreDistinctKeys() {
        #expect(one == two && one.exact != two.exact && two.exact < one.exact)
        #expect(Set([one.exact, two.exact, one.exact]).count == 2)
        var values: [ExactString: Int] = ["caf\u{E9}": 1]
        values[two] = 2
        #expect(values[one] == 1 && values["cafe\u{301}"] == 2 && values.count == 2)
        // U+212A and U+037E are singletons: their canonical forms are ASCII.
        #expect("K".exact != "\u{212A}".exact && ";".exact != "\u{37E}".exact)
        #expect("".exact < "a".exact && "a".exact < "ab".exact && "\u{FFFF}".exact < "\u{10000}".exact)
        #expect("\(one.exact)".utf8.elementsEqual(one.utf8))
    }

    @Test func jsonValuesAreComparedByBytes() throws {
        let value = try JSONValue(parsing: Bytes(utf8: #"{"caf\u00e9":1,"cafe\u0301":[2]}"#))
        #expect(value[one]?.number?.int64 == 1 && value[two]?.array?.count == 1)
        #expect(JSONValue.string(one) != .string(two))
        #expect(JSONValue.object([.init(key: one, value: 1)]) != .object([.init(key: two, value: 1)]))
        let values: [JSONValue] = [.string(one), .string(two), [.string(one)], [.string(two)], ["a": 1], ["a": 1]]
        #expect(Set(values).count == 5)
        #expect(JSONValue.number(JSONNumber(0)) != .bool(false) && JSONValue.null != .bool(false))
    }

    @Test func attachmentsDifferByTheirLocations() throws {
        let digest = try #require(SHA256Digest(hex: String(repeating: "0", count: 64)))
        func attachment(_ location: String, _ name: String) -> RecordAttachment {
            RecordAttachment(location: location, hash: digest, size: 0, filename: name, mimetype: "")
        }
        #expect(attachment(one, "x") != attachment(two, "x") && attachment("x", one) != attachment("x", two))
        #expect(attachment(one, two) == attachment(one, two))
    }
}
