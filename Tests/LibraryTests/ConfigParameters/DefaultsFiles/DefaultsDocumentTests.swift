import ConfigParameters
import Foundation
import RemoteSettingsModel
import Testing

/// See commands/template-errors.txt for tests of invalid documents and of numbers in property lists.
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

    /// Both formats that Foundation writes are read as the same values.
    @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func foundationPropertyListsAreRead(_ format: PropertyListSerialization.PropertyListFormat) throws {
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

    private func texts(_ text: String) throws -> [String: String] {
        let members = try values(Array(text.utf8))
        return Dictionary(
            uniqueKeysWithValues: members.map { ($0.key, $0.value.string ?? $0.value.number?.text ?? "?") })
    }

    /// Firebase's SDK for Android ignores the name of the root element, unknown elements and attributes. If an entry
    /// has several keys, it uses the last one.
    @Test func androidsXMLIsReadAsAndroidReadsIt() throws {
        let maps = [
            "<remote><entry><key>limit</key><value>3</value></entry></remote>",
            "<resources xmlns:tools=\"a>b\"><defaultsMap><entry tools:ignore='x'><key>limit</key><value>3</value></entry>"
                + "</defaultsMap></resources>",
            "<defaultsMap><entry><key>first</key><value>1</value><key>limit</key><value>3</value></entry></defaultsMap>",
            "<a><entry><value>3</value><note>x</note><key>li<!-- y --><![CDATA[mit]]></key></entry></a>",
        ]
        for map in maps { #expect(try texts(map) == ["limit": "3"], "\(map)") }
    }

    @Test func onlyPropertyListsArePropertyLists() throws {
        for text in ["{}", "<defaultsMap/>", "\u{FEFF}\u{FEFF}<plist><dict/></plist>"] {
            #expect(throws: Failure.self) { try DefaultsDocument(propertyList: Bytes(utf8: text)) }
        }
        #expect(try DefaultsDocument(propertyList: Bytes(utf8: "\u{FEFF}<plist><dict/></plist>")).members.isEmpty)
    }
}
