import Foundation
import RemoteConfiguration
import RemoteSettingsModel
import Testing

/// Conversions of values, and the types allowed as defaults.
struct ConfigValueTests {
    let place: ConfigPlace

    init() throws { place = try ConfigPlace() }

    private func value(_ json: String) throws -> RemoteConfigValue {
        let config = place.start()
        config.setDefaults(["k": try JSONValue(parsing: Bytes(utf8: json))])
        return config["k"]
    }

    @Test(arguments: [
        ("\"e5\"", "e5", false, 0.0), ("\"5e\"", "5e", true, 5), ("\"1e999\"", "1e999", true, 0),
        ("true", "true", true, 1), ("false", "false", false, 0), ("0", "0", false, 0), ("-0", "0", false, 0),
        ("1", "1", true, 1), ("2.50", "2.5", true, 2.5), ("5.0", "5", true, 5), ("1e300", "1e+300", true, 1e300),
        ("0.5", "0.5", true, 0.5), ("null", "", false, 0), ("[]", "[]", false, 0),
        (#"{"b":[1,2.5,"ü"],"a":null}"#, #"{"b":[1,2.5,"ü"],"a":null}"#, false, 0),
    ])
    func configValueForms(_ json: String, _ text: String, _ bool: Bool, _ number: Double) throws {
        let value = try value(json)
        #expect(value.stringValue == text)
        #expect(value.boolValue == bool)
        #expect(value.numberValue.doubleValue == number)
        #expect(value.dataValue == Data(text.utf8))
        #expect(value.source == .default)
    }

    /// Conversions of values from a signed collection, where numbers are in canonical form.
    @Test func signedConfigValueForms() async throws {
        try place.put(all: [
            "t": "ü\n\"", "n": 2.5, "i": 9_007_199_254_740_993, "b": true, "z": NSNull(), "e": 1e-7,
            "o": ["list": [1, 2.5, -0.125], "text": "🦊"] as [String: Any], "j": #"{"x": 1}"#,
        ])
        let config = place.start()
        try await config.fetchAndActivate()
        #expect(config.text("t") == "ü\n\"" && config.text("n") == "2.5" && config.text("b") == "true")
        #expect(config.text("e") == "1e-07")
        #expect(config["i"].numberValue.int64Value == 9_007_199_254_740_993 && config.text("i") == "9007199254740993")
        #expect(config["z"].source == .remote && config["z"].jsonValue == .null && config.text("z") == "")
        #expect(config.text("o") == #"{"list":[1,2.5,-0.125],"text":"🦊"}"#)
        #expect(config["o"].jsonValue?["text"]?.string == "🦊")
        #expect(config["j"].jsonValue?["x"]?.number?.int64 == 1, "strings are parsed as JSON, as in Firebase")
        #expect(config["t"].jsonValue == nil && config["none"].jsonValue == nil)
        #expect(throws: DecodingError.self) { try config["none"].decoded(as: Int.self) }
        let missing: Int? = config[decodedValue: "t"]
        #expect(missing == nil)
    }

    @Test func configNumbersAreClamped() throws {
        let big = RemoteConfigNumber(1e300)
        #expect(big.intValue == .max && big.int64Value == .max && big.uintValue == .max && big.floatValue == .infinity)
        let low = RemoteConfigNumber(-1e300)
        #expect(low.intValue == .min && low.uintValue == 0 && low.boolValue)
        #expect(RemoteConfigNumber(2.9).intValue == 2 && RemoteConfigNumber(-2.9).intValue == -2)
        #expect(RemoteConfigNumber(Double.nan) == 0 && RemoteConfigNumber(Double.infinity) == 0)
        let exact = RemoteConfigNumber(Int64.max)
        #expect(exact.stringValue == "9223372036854775807" && exact.int64Value == .max)
        #expect(big.uint64Value == .max && big.uint8Value == 255 && big.int8Value == 127 && low.int16Value == .min)
        #expect(big.decimalValue == .greatestFiniteMagnitude && low.decimalValue == -.greatestFiniteMagnitude)
        #expect(RemoteConfigNumber(1e-300).decimalValue == 0 && exact.decimalValue == 9_223_372_036_854_775_807)
        let hundred = RemoteConfigNumber(100.25)
        #expect(hundred.int8Value == 100 && hundred.int16Value == 100 && hundred.int32Value == 100)
        #expect(hundred.uint8Value == 100 && hundred.uint16Value == 100 && hundred.uint32Value == 100)
        #expect(hundred.uint64Value == 100 && hundred.decimalValue == Decimal(string: "100.25"))
        let one: RemoteConfigNumber = 1
        #expect(one < 1.5 && RemoteConfigNumber(Int64.max - 1) < exact && "\(one)" == "1")
    }

    /// Decodes all parameters into one value; remote values override defaults.
    @Test func wholeConfigIsDecoded() async throws {
        struct Settings: Decodable, Equatable {
            let banner: String
            let price: Double
            let flags: [String: Bool]
            let extra: Int?
        }
        try place.put(all: ["banner": "Hi", "flags": ["a": true]])
        let config = place.start()
        config.setDefaults(["banner": "default", "price": 2.5])
        try await config.fetchAndActivate()
        let expected = Settings(banner: "Hi", price: 2.5, flags: ["a": true], extra: nil)
        #expect(try config.decoded(as: Settings.self) == expected)
        #expect(try config.decoded(as: Settings.self) == expected)
        #expect(try config.snapshot().decoded() == expected)
        config.setDefaults(nil)
        #expect(throws: DecodingError.self) { try config.decoded(as: Settings.self) }
    }

    /// The date in Firebase's format.
    private func localTime(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
        return formatter.string(from: date)
    }

    @Test(arguments: [-3e9, -1, 0, 0.999, 1_700_000_000, 1_750_000_000, 4e9])
    func configDefaultDatesUseDeviceTimeZone(_ seconds: Double) throws {
        let date = Date(timeIntervalSince1970: seconds)
        let config = place.start()
        config.setDefaults(["date": date])
        #expect(config.text("date") == localTime(date))
    }

    @Test func configDefaultsFromDictionary() throws {
        let config = place.start()
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        config.setDefaults([
            "text": "x", "int": 5, "double": 2.5, "bool": true, "date": date, "data": Data([0xFF, 0x00]),
            "list": [1, 2], "map": ["a": "b"], "none": JSONValue.null,
        ])
        #expect(config.text("text") == "x" && config.text("int") == "5" && config["bool"].boolValue)
        #expect(config.text("date") == localTime(date), "as in Firebase")
        #expect(config["data"].dataValue == Data([0xFF, 0x00]) && config.text("data") == "")
        #expect(config.text("list") == "[1,2]" && config.text("map") == #"{"a":"b"}"#)
        #expect(config["none"].source == .default)
        // New defaults replace all previous ones.
        config.setDefaults(["other": 1])
        #expect(config["text"].source == .static && config.allKeys(from: .default) == ["other"])
    }

    /// Nested dictionaries, and dictionaries with values of several types.
    @Test func nestedConfigDefaults() throws {
        let config = place.start()
        try config.setDefaults([
            "nested": ["a": ["b": 1, "c": [true, "x", 2.5] as [Any]] as [String: Any]], "n": 1, "data": Data([0xFF]),
        ])
        #expect(config.text("nested") == #"{"a":{"b":1,"c":[true,"x",2.5]}}"# && config["n"].numberValue == 1)
        #expect(config["data"].dataValue == Data([0xFF]))
        struct Unknown {}
        let error = #expect(throws: RemoteConfigError.self) {
            try config.setDefaults(["list": ["a": [1, Unknown()] as [Any]] as [String: Any]])
        }
        #expect("\(try #require(error))".hasPrefix("list.a[1]: Unknown is not supported; use a string"))
        #expect(config["n"].source == .default, "the previous defaults remain")
        config.setDefaults(["same": ["a": ["b": 1]]])
        #expect(config.text("same") == #"{"a":{"b":1}}"#)
    }

    /// As in Firebase, keys and file names can be `nil`: a `nil` key has no value, and a `nil` file name is an error.
    @Test func nilKeyReadsNoValue() throws {
        let config = place.start()
        config.setDefaults(["": "empty", "a": "b"])
        #expect(config.configValue(forKey: nil).source == .static)
        #expect(config.snapshot().configValue(forKey: nil).source == .static)
        #expect(config.configValue(forKey: nil, source: .default).source == .static)
        #expect(config.defaultValue(forKey: nil) == nil)
        #expect(throws: RemoteConfigError.self) { try config.setDefaults(fromPlist: nil) }
        #expect(config.text("a") == "b")
    }

    @Test func configDefaultsFromEncodable() throws {
        struct Defaults: Encodable {
            let banner = "x"
            let colours = ["red"]
            let nested = ["a": 1]
        }
        let config = place.start()
        try config.setDefaults(from: Defaults())
        #expect(config.text("banner") == "x" && config.text("colours") == #"["red"]"#)
        #expect(config["nested"].jsonValue?["a"]?.number?.int64 == 1)
        #expect(throws: RemoteConfigError.self) { try config.setDefaults(from: ["no", "dictionary"]) }
        #expect(throws: RemoteConfigError.self) { try config.setDefaults(from: 5) }
        #expect(config.text("banner") == "x", "the previous defaults remain")
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        try config.setDefaults(from: ["date": Date(timeIntervalSince1970: 1_700_000_000)], encoder: encoder)
        #expect(config.text("date") == "2023-11-14T22:13:20Z")
    }

    /// `DefaultsDocumentTests` tests the parsing of both property list formats.
    @Test func configDefaultsFromPropertyList() throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        let values: [String: Any] = [
            "int": 5, "yes": true, "data": Data([0xFF, 0x01]), "date": date, "list": [1, "a", true] as [Any],
        ]
        let plist = try PropertyListSerialization.data(fromPropertyList: values, format: .binary, options: 0)
        try plist.write(to: place.directory.appending(path: "Defaults.plist"))
        let config = place.start()
        try config.setDefaults(fromPlist: "Defaults", in: place.directory.path)
        #expect(config.text("int") == "5" && config.text("yes") == "true" && config.text("list") == #"[1,"a",true]"#)
        #expect(config["data"].dataValue == Data([0xFF, 0x01]) && config.text("date") == localTime(date))
        try config.setDefaults(fromPlist: "\(place.directory.path)/Defaults.plist")
        try config.setDefaults(plist: plist)
        #expect(config.allKeys(from: .default).count == values.count)
    }

    /// A missing or damaged file causes an error that contains its name, not just a log message.
    @Test func invalidPropertyListDefaultsAreRefused() throws {
        let config = place.start()
        config.setDefaults(["a": "stays"])
        let missing = #expect(throws: RemoteConfigError.self) {
            try config.setDefaults(fromPlist: "Nowhere", in: place.directory.path)
        }
        #expect("\(try #require(missing))".contains("Nowhere.plist: there is no such property list"))
        #expect(throws: RemoteConfigError.self) { try config.setDefaults(fromPlist: "RemoteConfigDefaults") }
        for content in ["", "<plist><dict><key>a</key>", "bplist00xxxx", "<plist><array/></plist>", "{"] {
            try Data(content.utf8).write(to: place.directory.appending(path: "Bad.plist"))
            let error = #expect(throws: RemoteConfigError.self) {
                try config.setDefaults(fromPlist: "Bad.plist", in: place.directory.path)
            }
            #expect("\(try #require(error))".contains("Bad.plist"))
        }
        #expect(throws: RemoteConfigError.self) { try config.setDefaults(fromPlist: "\(place.directory.path)/") }
        #expect(config.text("a") == "stays")
    }

    /// Malicious property lists, many of which would make Foundation's parsers overflow the stack or hang.
    @Test func hostilePropertyListDefaultsAreRefused() throws {
        /// A binary property list of `objects`, the first being the root; offsets and references are two bytes long.
        func binary(_ objects: [[UInt8]]) -> Data {
            var (bytes, offsets) = (Array("bplist00".utf8), [UInt8]())
            for object in objects {
                offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)]
                bytes += object
            }
            let (table, count) = (bytes.count, objects.count)
            bytes += offsets + [0, 0, 0, 0, 0, 0, 2, 2]
            for number in [count, 0, table] { bytes += (0..<8).map { UInt8(number >> (56 - 8 * $0) & 255) } }
            return Data(bytes)
        }
        let head: [[UInt8]] = [[0xD1, 0, 1, 0, 2], [0x51, UInt8(ascii: "a")]]
        func array(_ references: [Int]) -> [UInt8] {
            [0xA0 | UInt8(references.count)] + references.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        }
        let config = place.start()
        func refused(_ plist: Data, _ words: String) {
            let error = #expect(throws: RemoteConfigError.self) { try config.setDefaults(plist: plist, name: "list") }
            #expect(error.map { "\($0)" }?.contains(words) ?? false, "\(String(describing: error))")
        }
        try config.setDefaults(plist: binary(head + [array([3, 3, 4]), [0x09], array([])]))
        #expect(config.text("a") == "[true,true,[]]")
        refused(binary(head + [array([2])]), "deeper than 128 levels")
        refused(binary([[0xD1, 0, 1, 0, 0], head[1]]), "deeper than 128 levels")
        let multiplied = (2..<12).map { array(Array(repeating: $0 + 1, count: 8)) }
        refused(binary(head + multiplied + [[0x09]]), "more than 250000 values")
        refused(binary(head + (2..<300).map { array([$0 + 1]) } + [[0x09]]), "deeper than 128 levels")
        refused(binary(head + [array([9])]), "an object reference is invalid")
        refused(binary(head + [[0xAF, 0x13, 0x7F, 255, 255, 255, 255, 255, 255, 255]]), "larger than the file")
        refused(binary(head + [[0xDF, 0x51]]), "the length of an object is missing")
        refused(
            Data(Array("bplist00".utf8) + [UInt8](repeating: 255, count: 40)), "the binary property list is damaged")

        func nested(_ levels: Int, _ between: String = "") -> Data {
            let (open, close) = ("<array>" + between, "</array>")
            return Data(
                ("<plist version=\"1.0\"><dict><key>a</key>" + String(repeating: open, count: levels)
                    + String(repeating: close, count: levels) + "</dict></plist>").utf8)
        }
        try config.setDefaults(plist: nested(50, "<!-- </array> --><true/>"))
        for levels in [129, 200_000] { refused(nested(levels), "deeper than 128 levels") }
        refused(nested(130, "<!-- </array> --><?x </array>?>"), "deeper than 128 levels")
        refused(nested(130, "<string><![CDATA[</array>]]></string>"), "deeper than 128 levels")
        refused(nested(1, "<string a=\"/>\">"), "<string> must not have attributes")
        refused(Data("<!DOCTYPE x [<!ENTITY a 'b'>]><plist><dict/></plist>".utf8), "the document type defines entities")
        let integer = Data("<plist version=\"1.0\"><dict><key>a</key><integer>".utf8) + [0xFC]
        refused(integer + Data("7</integer></dict></plist>".utf8), "not UTF-8")
        refused(Data("<plist><dict/></plist>".utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }), "not UTF-8")
    }

    /// Getters with a default value, as in Flurry.
    @Test func configGettersWithDefault() throws {
        let config = place.start()
        config.setDefaults(["zero": "0", "no": "no", "empty": "", "n": 2.5, "false": false, "t": "text"])
        #expect(config.string(forKey: "t", default: "d") == "text" && config.string(forKey: "x", default: "d") == "d")
        #expect(config.number(forKey: "n", default: 1) == 2.5 && config.number(forKey: "x", default: 1) == 1)
        #expect(!config.bool(forKey: "no", default: true) && config.bool(forKey: "x", default: true))
        #expect(config.boolUnlessZero(forKey: "no", default: false), "anything but 0 is true")
        #expect(config.boolUnlessZero(forKey: "empty", default: false))
        #expect(!config.boolUnlessZero(forKey: "zero", default: true))
        #expect(!config.boolUnlessZero(forKey: "false", default: true))
        #expect(
            config.boolUnlessZero(forKey: "x", default: true) && !config.boolUnlessZero(forKey: "x", default: false))
    }

    /// Firebase's limits; one violation rejects the whole call.
    @Test func customSignalLimits() async throws {
        let config = place.start()
        let key = String(repeating: "k", count: 250)
        let text = String(repeating: "ü", count: 500)
        try await config.setCustomSignals([key: .string(text), "n": 1, "d": 0.5])
        for bad: [String: CustomSignalValue?] in [
            [key + "k": "x", "new": "y"], ["long": .string(text + "x"), "new": "y"],
            Dictionary(uniqueKeysWithValues: (0..<98).map { ("s\($0)", CustomSignalValue.integer($0)) }),
        ] {
            let error = await #expect(throws: RemoteConfigCustomSignalsError.self) {
                try await config.setCustomSignals(bad)
            }
            #expect(error?.errorCode == 8103)
        }
        let error = await #expect(throws: RemoteConfigCustomSignalsError.self) {
            try await config.setCustomSignals(["nan": .double(.nan), "new": "y"])
        }
        #expect(error?.errorCode == 8102)
        // The limit is 100 signals after the merge. Removed signals do not count, and the refused calls set none.
        try await config.setCustomSignals(Dictionary(uniqueKeysWithValues: (0..<97).map { ("s\($0)", .integer($0)) }))
        await #expect(throws: RemoteConfigCustomSignalsError.self) { try await config.setCustomSignals(["one": 1]) }
        try await config.setCustomSignals(["one": 1, "n": nil])
        try place.put("a", "no")
        try place.put("a", "yes", id: "a1", filter: "env.one == 1 && env.s96 == 96 && env.d == 0.5 && !('n' in env)")
        try await config.fetchAndActivate()
        #expect(config.text("a") == "yes")
    }
}
