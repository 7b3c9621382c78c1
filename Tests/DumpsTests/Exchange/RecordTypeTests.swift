import RemoteSettingsModel
import Testing

@testable import DumpsExchange

/// The Swift types written by `rsdump embed --types`.
struct RecordTypeTests {
    private static func type(_ records: [JSONValue], schema: JSONValue? = nil) -> ValueType {
        RecordType(named: "ARecord", records: records, schema: schema).type
    }

    private static func field(_ key: String, _ type: ValueType) -> ValueType.Field? {
        guard case .object(let fields) = type else { return nil }
        return fields.first { $0.key == key }
    }

    @Test func recordTypeMembersHaveValueTypes() throws {
        let type = Self.type([
            [
                "id": "a", "last_modified": 1, "name": "x", "size": 5, "ratio": 1, "on": true, "list": ["x"],
                "mixed": 1, "attachment": ["filename": "f"], "deep": ["n": 1], "none": .null,
            ],
            [
                "id": "b", "last_modified": 2, "size": 6, "ratio": 0.5, "on": false, "list": [], "mixed": "x",
                "deep": ["n": 2, "m": "y"], "none": .null,
            ],
        ])
        let expected: [(String, ValueType, Bool)] = [
            ("id", .string, false), ("last_modified", .integer, false), ("name", .string, true),
            ("size", .integer, false), ("ratio", .number, false), ("on", .boolean, false),
            ("list", .array(.string), false), ("mixed", .any, false), ("attachment", .attachment, true),
            (
                "deep",
                .object([
                    .init(key: "n", type: .integer, isOptional: false),
                    .init(key: "m", type: .string, isOptional: true),
                ]), false
            ), ("none", .any, true),
        ]
        for (key, type_, isOptional) in expected {
            #expect(Self.field(key, type) == .init(key: key, type: type_, isOptional: isOptional))
        }
    }

    /// An object may have 100,000 members, whose names may all map to the same Swift name.
    @Test(.timeLimit(.minutes(1))) func manyMembersWithTheSameName() throws {
        var names = NamesInUse(["member"])
        let found = (0..<30_000).map { _ in names.unused("member") }
        #expect(found.first == "member2" && found.last == "member30001")
        #expect(names.unused("`default`") == "`default`" && names.unused("`default`") == "default2")
        #expect(names.unused("default2") == "default22")
        let members = (0..<2000).map { number in
            let letters = "\(number)".unicodeScalars.compactMap { Unicode.Scalar($0.value + 0x400) }
            return JSONValue.Member(key: String(String.UnicodeScalarView(letters)), value: 1)
        }
        let type = RecordType(named: "ARecord", records: [.object(members)], schema: nil)
        let declaration = type.declaration(collection: "main/a")
        #expect(declaration.contains("case member2000 = \"\\u{431}\\u{439}\\u{439}\\u{439}\""))
    }

    @Test(.timeLimit(.minutes(1))) func manyMembersAreCompared() throws {
        let members = (0..<100_000).map { JSONValue.Member(key: "m\($0)", value: 1) }
        let schema = JSONValue.members(["properties": .object(members.map { .init(key: $0.key, value: [:]) })])
        let type = Self.type([.object(members)], schema: schema)
        #expect(type.misfit(of: .object(members.reversed())) == nil)
        #expect(type.misfit(of: .object(members.dropLast()))?.path == ["m99999"])
    }

    @Test func recordTypeDetectsDictionaries() {
        let records: [JSONValue] = ["de", "fr", "it", "es"].enumerated().map { number, language in
            ["id": .string("\(number)"), "last_modified": 1, "labels": .object([.init(key: language, value: "x")])]
        }
        #expect(Self.field("labels", Self.type(records))?.type == .dictionary(.string))
    }

    @Test func recordTypeFollowsSchema() {
        let record: JSONValue = ["id": "a", "last_modified": 1, "side": "left", "size": 1, "name": "x"]
        let schema: JSONValue = [
            "required": ["name"],
            "properties": [
                "side": ["enum": ["left", "right"]], "size": ["type": "number"], "name": ["type": "string"],
            ],
        ]
        let type = Self.type([record], schema: schema)
        #expect(Self.field("side", type) == .init(key: "side", type: .choice(["left", "right"]), isOptional: true))
        #expect(Self.field("size", type) == .init(key: "size", type: .number, isOptional: true))
        #expect(Self.field("name", type) == .init(key: "name", type: .string, isOptional: false))
        #expect(Self.field("id", type)?.isOptional == false)
    }

    /// A written declaration can be read back, whatever its keys, because a check compares it with new records.
    @Test(arguments: [
        "plain", "two words", "class", "self", "hashValue", "String", "quote\"back\\slash", "line\nbreak", "é",
        "e\u{301}",
        "\\(injected)", "1", "", "-", "}", "// comment", "\u{202E}x", "Type", "codingKeys", "member2",
    ])
    func recordTypeDeclarationRoundTrip(key: String) throws {
        let record: JSONValue = [
            "id": "a", "last_modified": 1,
            "o": .object([
                .init(key: key, value: .object([.init(key: key, value: [1])])), .init(key: "member", value: true),
            ]),
        ]
        let keyed = JSONValue.object([
            .init(key: "id", value: "a"), .init(key: "last_modified", value: 1), .init(key: key, value: "x"),
        ])
        for value in [record, keyed] {
            let type = RecordType(named: "ARecord", records: [value], schema: nil)
            let text = type.declaration(collection: "main/a")
            #expect(text.utf8.allSatisfy { $0 < 0x7F && ($0 >= 0x20 || $0 == 0x0A) })
            #expect(RecordType(named: "ARecord", in: text) == type, "\(text)")
        }
    }

    @Test func recordTypeChoicesRoundTrip() {
        let schema: JSONValue = ["properties": ["side": ["enum": ["left", "right", "unknown", "\"", "é", "e\u{301}"]]]]
        let record: JSONValue = ["id": "a", "last_modified": 1, "side": "left"]
        let type = RecordType(named: "ARecord", records: [record], schema: schema)
        let read = RecordType(named: "ARecord", in: type.declaration(collection: "main/a"))
        // Swift considers the last two strings equal, and so does a `switch`.
        #expect(read.flatMap { Self.field("side", $0.type) }?.type == .choice(["left", "right", "unknown", "\"", "é"]))
    }

    @Test func recordTypeMisfitNamesTheMember() throws {
        let old: JSONValue = ["id": "a", "last_modified": 1, "name": "x", "tags": ["x"], "note": "n"]
        let other: JSONValue = ["id": "b", "last_modified": 1, "name": "x", "tags": []]
        let type = Self.type([old, other])
        #expect(type.misfit(of: old) == nil)
        #expect(type.misfit(of: ["id": "c", "last_modified": 1, "name": "y", "tags": [], "more": 1]) == nil)
        #expect(
            type.misfit(of: ["id": "c", "last_modified": 1, "name": 1, "tags": []])
                == .init(path: ["name"], found: "a number", expected: "a string"))
        #expect(
            type.misfit(of: ["id": "c", "last_modified": 1, "tags": []])
                == .init(path: ["name"], found: "missing", expected: "a string"))
        #expect(
            type.misfit(of: ["id": "c", "last_modified": 1, "name": "y", "tags": ["x", 1]])
                == .init(path: ["tags", "1"], found: "a number", expected: "a string"))
        #expect(type.misfit(of: ["id": "c", "last_modified": 1.5, "name": "y", "tags": []])?.path == ["last_modified"])
    }
}
