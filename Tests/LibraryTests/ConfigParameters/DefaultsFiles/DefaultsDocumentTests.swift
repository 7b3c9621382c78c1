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
        let error = #expect(throws: ParameterError.self) {
            try DefaultsDocument(Bytes(utf8: "{\n\"a\": 1,\n\"a\": 2}"))
        }
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
        #expect(throws: ParameterError.self) { try DefaultsDocument(Bytes(utf8: text)) }
    }

    @Test func onlyPropertyListsArePropertyLists() throws {
        for text in ["{}", "<defaultsMap/>"] {
            #expect(throws: ParameterError.self) { try DefaultsDocument(propertyList: Bytes(utf8: text)) }
        }
        #expect(try DefaultsDocument(propertyList: Bytes(utf8: "\u{FEFF}<plist><dict/></plist>")).members.isEmpty)
    }
}
