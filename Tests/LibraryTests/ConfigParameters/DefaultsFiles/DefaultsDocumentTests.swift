import ConfigParameters
import Foundation
import RemoteSettingsModel
import Testing

@Suite struct DefaultsDocumentTests {
    private func values(_ bytes: [UInt8]) throws -> [JSONValue.Member] {
        try DefaultsDocument(Bytes(bytes)).members.map { .init(key: $0.key, value: try $0.value.json(Self.text)) }
    }

    private static func text(_ value: DefaultsValue) throws -> JSONValue {
        switch value {
        case .data(let data): .string("data \(data.array)")
        case .date(let time): .string("date \(time)")
        default: .null
        }
    }

    /// Foundation writes both forms; both are the same values.
    @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func foundationsPropertyLists(_ format: PropertyListSerialization.PropertyListFormat) throws {
        let written: [String: Any] = [
            "text": "ü <&>\u{1F600}", "ascii": String(repeating: "a", count: 300), "negative": -7, "big": UInt64.max,
            "byte": 200, "wide": 70_000, "double": 2.5, "yes": true, "no": false, "data": Data([0xFF, 0x01]),
            "date": Date(timeIntervalSince1970: 1_700_000_000), "list": [1, "a", [] as [Int]] as [Any],
            "map": ["k": ["n": 1]],
        ]
        let plist = try PropertyListSerialization.data(fromPropertyList: written, format: format, options: 0)
        let found = Dictionary(uniqueKeysWithValues: try values(Array(plist)).map { ($0.key, $0.value) })
        #expect(found.count == written.count)
        #expect(found["text"]?.string == "ü <&>\u{1F600}" && found["ascii"]?.string?.utf8.count == 300)
        #expect(found["negative"]?.number?.int64 == -7 && found["big"]?.number?.uint64 == .max)
        #expect(found["byte"]?.number?.int64 == 200 && found["wide"]?.number?.int64 == 70_000)
        #expect(found["double"]?.number?.double == 2.5 && found["yes"] == .bool(true) && found["no"] == .bool(false))
        #expect(found["data"]?.string == "data [255, 1]" && found["date"]?.string == "date 1700000000000")
        #expect(found["list"]?.array?.count == 3 && found["map"]?["k"]?["n"]?.number?.int64 == 1)
    }

    @Test func membersHaveTheirLines() throws {
        for text in [
            "{\n\n\"a\": 1,\n\"b\": [\n2]\n}",
            "<defaultsMap>\n\n<entry><key>a</key><value/></entry>\n<entry><key>b</key><value/></entry></defaultsMap>",
        ] {
            #expect(try DefaultsDocument(Bytes(utf8: text)).members.map(\.line) == [3, 4])
        }
        let error = #expect(throws: Failure.self) { try DefaultsDocument(Bytes(utf8: "{\n\"a\": 1,\n\"a\": 2}")) }
        #expect(error?.line == 3)
    }

    @Test(arguments: [
        "<plist><dict><key>a</key><date>1969-01-01T00:00:00Z</date></dict></plist>",
        "<plist><dict><key>a</key><data>A</data></dict></plist>",
        "<plist><dict><key>a</key><real>nan</real></dict></plist>",
        "<plist><dict><key>a</key><true>no</true></dict></plist>",
        "<plist><dict><key>a</key><string b='c'>x</string></dict></plist>",
        "<plist><dict/></plist><plist/>", "{ a = b; }", "\u{FEFF}\u{FEFF}<plist><dict/></plist>",
    ])
    func whatIsNoDocumentIsRefused(_ text: String) {
        #expect(throws: Failure.self) { try DefaultsDocument(Bytes(utf8: text)) }
    }

    private func texts(_ text: String) throws -> [String: String] {
        let members = try values(Array(text.utf8))
        return Dictionary(
            uniqueKeysWithValues: members.map { ($0.key, $0.value.string ?? $0.value.number?.text ?? "?") })
    }

    /// What Firebase's SDK for Android reads: it ignores the name of the root element, unknown elements and attributes,
    /// and of several keys in an entry it uses the last one.
    @Test func androidsXMLIsReadAsAndroidReadsIt() throws {
        let maps = [
            "<remote><entry><key>limit</key><value>3</value></entry></remote>",
            "<resources xmlns:tools=\"a>b\"><defaultsMap><entry tools:ignore='x'><key>limit</key><value>3</value></entry>"
                + "</defaultsMap></resources>",
            "<defaultsMap><entry><key>first</key><value>1</value><key>limit</key><value>3</value></entry></defaultsMap>",
            "<a><entry><value>3</value><note>x</note><key>li<!-- y --><![CDATA[mit]]></key></entry></a>",
        ]
        for map in maps { #expect(try texts(map) == ["limit": "3"], "\(map)") }
        for map in [
            "<a/>", "<a></a>", "<a><b>c</b></a>", "<a><entry><key>k</key></entry></a>",
            "<a><entry><value>k</value></entry></a>", "<a><entry/></a>", "<a><entry><key>k</entry></a>", "<a><entry>",
            "<a><entry><key>k</key><value>1</value></entry></a><b/>", "<a b='><entry>",
        ] {
            #expect(throws: Failure.self, "\(map)") { try texts(map) }
        }
    }

    /// What Apple's frameworks read.
    @Test(arguments: [
        ("<integer>0x1F</integer>", "31"), ("<integer>-0x10</integer>", "-16"), ("<integer>+007</integer>", "7"),
        ("<integer> - 5</integer>", "-5"), ("<integer>0xFFFFFFFFFFFFFFFF</integer>", "18446744073709551615"),
        ("<integer>-9223372036854775808</integer>", "-9223372036854775808"), ("<integer>-0</integer>", "0"),
        ("<real>.5</real>", "0.5"), ("<real>+1.</real>", "1.0"), ("<real>-007</real>", "-7.0"),
        ("<real>1e5</real>", "1e5"), ("<real>0</real>", "0.0"),
    ])
    func propertyListsNumbers(_ value: String, _ expected: String) throws {
        #expect(try texts("<plist><dict><key>a</key>\(value)</dict></plist>") == ["a": expected])
        #expect(try texts("<dict><key>a</key>\(value)</dict>") == ["a": expected])
    }

    @Test(arguments: [
        "<integer></integer>", "<integer>0x</integer>", "<integer>1F</integer>", "<integer>--1</integer>",
        "<integer>-+1</integer>", "<integer>18446744073709551616</integer>", "<integer>-9223372036854775809</integer>",
        "<integer>-0x8000000000000001</integer>", "<integer>0x-1</integer>", "<integer>1.0</integer>",
        "<integer>١</integer>", "<real></real>", "<real>.</real>", "<real>e5</real>", "<real>1e</real>",
        "<real>inf</real>", "<real>--1</real>", "<real>+-1</real>", "<real>1.2.3</real>", "<real>0x10</real>",
    ])
    func noPropertyListsNumber(_ value: String) {
        #expect(throws: Failure.self) { try texts("<plist><dict><key>a</key>\(value)</dict></plist>") }
    }

    @Test func onlyPropertyListsArePropertyLists() throws {
        for text in ["{}", "<defaultsMap/>"] {
            #expect(throws: Failure.self) { try DefaultsDocument(propertyList: Bytes(utf8: text)) }
        }
        #expect(try DefaultsDocument(propertyList: Bytes(utf8: "\u{FEFF}<plist><dict/></plist>")).members.isEmpty)
    }
}
