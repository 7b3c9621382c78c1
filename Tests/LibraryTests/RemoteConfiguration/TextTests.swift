import Foundation
import RemoteConfiguration
import RemoteSettingsModel
import Testing

/// Conversions of strings to booleans, numbers and the app's types. Values published with Firebase are all strings.
struct TextTests {
    /// Strings with their `boolValue` and `doubleValue` by the rules of `NSString` on Apple platforms.
    static let table: [(text: String, bool: Bool, number: Double)] = [
        ("", false, 0), (" ", false, 0), ("0", false, 0), ("1", true, 1), ("2", true, 2), ("9", true, 9),
        ("10", true, 10), ("00", false, 0), ("01", true, 1), ("007", true, 7), ("-0", false, 0), ("-1", true, -1),
        ("+7", true, 7),
        ("-01", true, -1), ("+0", false, 0), ("--1", false, 0), ("+-1", false, 0), ("+", false, 0), ("-", false, 0),
        (" 1", true, 1), ("\t1", true, 1), ("\n1", true, 1), (" \r\n -05", true, -5), ("1 ", true, 1),
        ("\u{A0}1", true, 1), ("\u{2003}7", true, 7), ("x1", false, 0), ("1x", true, 1), ("9lives", true, 9),
        ("true", true, 0), ("TRUE", true, 0), ("True", true, 0), (" true", true, 0), ("t", true, 0), ("T", true, 0),
        ("tomorrow", true, 0), ("yes", true, 0), ("YES", true, 0), ("y", true, 0), (" Yo", true, 0), ("0t", true, 0),
        ("-y", true, 0), ("false", false, 0), ("FALSE", false, 0), ("no", false, 0), ("n", false, 0), ("f", false, 0),
        ("on", false, 0), ("off", false, 0), ("enabled", false, 0), ("null", false, 0), ("[1]", false, 0),
        ("0.5", false, 0.5), ("1.10", true, 1.1), ("-3.5", true, -3.5), (".5", false, 0.5), ("1.", true, 1),
        ("1e3", true, 1000), ("12.5e1x", true, 125), ("0x1F", false, 0), ("１", false, 0),
    ]

    let place: ConfigPlace

    init() throws { place = try ConfigPlace() }

    @Test(arguments: [RemoteConfigSource.default, .remote])
    func textIsReadAsBooleanAndNumber(from source: RemoteConfigSource) async throws {
        let texts = Dictionary(uniqueKeysWithValues: Self.table.enumerated().map { ("k\($0)", $1.text) })
        let config = place.start()
        if source == .remote {
            try place.put(all: texts)
            try await config.fetchAndActivate()
        } else {
            config.setDefaults(texts)
        }
        for (number, row) in Self.table.enumerated() {
            let value = config["k\(number)"]
            #expect(value.source == source && value.stringValue == row.text)
            #expect(value.boolValue == row.bool, "\(row.text.debugDescription)")
            #expect(value.numberValue.doubleValue == row.number, "\(row.text.debugDescription)")
        }
    }

    /// Compares the table and many generated strings with Foundation on the current platform. On Linux, this skips the
    /// edge cases below in which Foundation differs from Apple's.
    @Test func configTextsConvertLikeFoundation() throws {
        let config = place.start()
        for text in Self.table.map(\.text) + Self.generated(4000, seed: 1) {
            config.setDefaults(["k": text])
            let value = config["k"]
            let foundation = NSString(string: text)
            if !Self.isCornerOfBooleans(text) {
                #expect(value.boolValue == foundation.boolValue, "\(text.debugDescription)")
            }
            if !Self.isCornerOfNumbers(text) {
                #expect(value.numberValue.doubleValue == foundation.doubleValue, "\(text.debugDescription)")
            }
        }
    }

    /// Linux skips white space after a sign and after zeros, and accepts no letter there.
    private static func isCornerOfBooleans(_ text: String) -> Bool {
        #if canImport(Darwin)
        false
        #else
        text.firstMatch(of: /^\s*[+-]?\s*0*\s*[yYtT]/) != nil && text.firstMatch(of: /^\s*[yYtT]/) == nil
            || text.firstMatch(of: /^\s*[+-]\s/) != nil || text.firstMatch(of: /^\s*[+-]?0+\s/) != nil
        #endif
    }

    /// Linux does not skip line breaks, skips spaces after a sign, and returns 0 for an exponent without digits. On all
    /// platforms, this skips infinite results, which the library never returns.
    private static func isCornerOfNumbers(_ text: String) -> Bool {
        if !NSString(string: text).doubleValue.isFinite { return true }
        #if canImport(Darwin)
        return false
        #else
        let lineEnds = "\n\r\u{B}\u{C}".unicodeScalars
        return text.unicodeScalars.prefix { $0.properties.isWhitespace }.contains { lineEnds.contains($0) }
            || text.firstMatch(of: /^\s*[+-]\s/) != nil
            || text.firstMatch(of: /^\s*[+-]?[0-9.]+[eE][+-]?([^0-9]|$)/) != nil
        #endif
    }

    /// Generates strings from fragments that the conversion rules treat specially.
    static func generated(_ count: Int, seed: UInt64) -> [String] {
        let pieces = [
            "0", "1", "7", "10", "-", "+", ".", "e", "E", "5", " ", "\t", "\n", "\u{A0}", "t", "T", "rue", "y", "Y",
            "es", "n", "false", "x", "[", "]", "{", "}", "\"", ":", ",", "null", "\"a\":1", "[1,2]", "{\"a\":1}",
            "18446744073709551615", "9007199254740993", "300", "1e400", "é", "2023-11-14 22:13:20",
        ]
        var random = SteppedNumbers(seed)
        return (0..<count).map { _ in
            (0...random.below(5)).map { _ in pieces[random.below(pieces.count)] }.joined()
        }
    }

    private struct Holder<Value: Decodable>: Decodable { var k: Value }

    /// The results of each way to decode the key `k` as a type; an empty string stands for an error.
    private func readings<Value: Decodable>(_ config: RemoteConfig, as type: Value.Type, fallback: Value) -> [String] {
        func shown(_ value: Value?) -> String { value.map { "\($0) " } ?? "" }
        let property = RemoteConfigProperty<Value?>(key: "k", fallback: nil, config: config)
        let subscripted: Value? = config[decodedValue: "k"]
        let plain = RemoteConfigProperty(key: "k", fallback: fallback, config: config)
        let read = try? config["k"].decoded(as: type)
        return [
            shown(read), shown(try? config.decoded(as: Holder<Value>.self).k),
            shown(try? config.decoded(as: [String: Value].self)["k"]), shown(subscripted), shown(property.wrappedValue),
            read == nil && shown(plain.wrappedValue) == shown(fallback) ? "" : shown(plain.wrappedValue),
            shown((try? config["k"].decoded(as: Value?.self)) ?? nil),
        ]
    }

    /// Expects that all ways to decode a type have the same result, and that it is `expected` if given.
    private func agree<Value: Decodable>(
        _ config: RemoteConfig, _ type: Value.Type, _ fallback: Value, _ expected: String? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let readings = readings(config, as: type, fallback: fallback)
        let words = "\(config.text("k").debugDescription), \(type): \(readings)"
        #expect(readings.allSatisfy { $0 == expected ?? readings[0] }, "\(words)", sourceLocation: location)
    }

    private struct Recipe: Decodable { let a: Int }
    private enum Theme: String, Decodable { case on, t, yes }

    /// For each type, all ways to decode a parameter agree with each other and with the matching getter.
    @Test func configGettersAgreeOnTexts() throws {
        let config = place.start()
        for text in Self.table.map(\.text) + Self.generated(400, seed: 2) {
            config.setDefaults(["k": text])
            let value = config["k"]
            let number = value.numberValue
            agree(config, String.self, "none", text + " ")
            agree(config, Bool.self, !value.boolValue, "\(value.boolValue) ")
            agree(config, Data.self, Data([0]), "\(Data(text.utf8)) ")
            #expect(try value.decoded(as: Data.self) == Data(text.utf8))
            let hasNumber = (try? value.decoded(as: Double.self)) != nil
            agree(config, Double.self, -99, hasNumber ? "\(number.doubleValue) " : "")
            let isInteger = hasNumber && Int(exactly: number.doubleValue) != nil
            agree(config, Int.self, -99, isInteger ? "\(number.intValue) " : nil)
            agree(config, UInt8.self, 99)
            agree(config, Int64.self, -99)
            agree(config, UInt64.self, 99)
            agree(config, Float.self, -99)
            agree(config, Decimal.self, -99)
            agree(config, Date.self, Date(timeIntervalSince1970: 0))
            agree(config, Theme.self, .on, Theme(rawValue: text).map { "\($0) " } ?? "")
            agree(config, [Int].self, [-99])
            agree(config, [String: Int].self, ["none": 1])
            agree(config, Recipe.self, Recipe(a: -99))
            if hasNumber {
                #expect(number.doubleValue != 0 || text.contains("0"), "\(text.debugDescription) is not a number")
            } else {
                #expect(number == 0)
            }
        }
    }

    /// The same for values that are not strings.
    @Test func configGettersAgreeOnTypedValues() throws {
        let config = place.start()
        let values = [
            "true", "false", "0", "7", "-1", "2.5", "300", "18446744073709551615", "[1,2]", #"{"a":1}"#, #"{"a":"x"}"#,
        ]
        for json in values {
            config.setDefaults(["k": try JSONValue(parsing: Bytes(utf8: json))])
            let value = config["k"]
            agree(config, String.self, "none", value.stringValue + " ")
            agree(config, Bool.self, !value.boolValue, "\(value.boolValue) ")
            agree(config, Data.self, Data([0]), "\(value.dataValue) ")
            agree(config, Int.self, -99)
            agree(config, UInt64.self, 99)
            agree(config, Double.self, -99)
            agree(config, Decimal.self, -99)
            agree(config, [Int].self, [-99])
            agree(config, [String: Int].self, ["none": 1])
            agree(config, Recipe.self, Recipe(a: -99))
        }
    }

    /// Decodes strings as Firebase's console publishes them.
    @Test func firebaseConsoleTextsAreDecoded() throws {
        struct Settings: Decodable, Equatable {
            struct Recipe: Decodable, Equatable {
                let recipeName: String
                let ingredients: [String]
                let cookTime: Int
            }
            let n: Int
            let price: Float
            let decimal: Decimal
            let on: Bool
            let off: Bool
            let kill: Bool
            let data: Data
            let fruits: [String]
            let recipe: Recipe
            let link: URL
            let missing: Int?
        }
        let config = place.start()
        config.setDefaults([
            "n": "123", "price": "42.75", "decimal": "375.785", "on": "1", "off": "0", "kill": "0", "data": "data",
            "fruits": #"["mango","papaya"]"#, "link": "https://example.org/a",
            "recipe": #" {"recipeName": "PB&J", "ingredients": ["bread"], "cookTime": 7}"#,
        ])
        let settings = try config.decoded(as: Settings.self)
        #expect(
            settings
                == Settings(
                    n: 123, price: 42.75, decimal: 375.785, on: true, off: false, kill: false, data: Data("data".utf8),
                    fruits: ["mango", "papaya"], recipe: .init(recipeName: "PB&J", ingredients: ["bread"], cookTime: 7),
                    link: try #require(URL(string: "https://example.org/a")), missing: nil))
        let decimal: Decimal? = config[decodedValue: "decimal"]
        #expect(decimal == Decimal(string: "375.785"))
        #expect(!RemoteConfigProperty(key: "kill", fallback: true, config: config).wrappedValue)
        #expect(config["recipe"].jsonObject?["cookTime"] as? Int == 7)
        #expect(config["recipe"].jsonObject?["ingredients"] as? [String] == ["bread"])
        #expect(config["fruits"].jsonArray as? [String] == ["mango", "papaya"])
        #expect(config["n"].jsonValue == nil && config["n"].jsonObject == nil, "it is not an object or array")
        let undefined: String? = config[decodedValue: "undefined"]
        #expect(undefined == "")
    }

    @Test func configDecodingErrorsNameTheParameter() throws {
        struct Settings: Decodable { let n: Int }
        struct Nested: Decodable {
            struct Inner: Decodable { let a: [Int] }
            let k: Inner
        }
        let config = place.start()
        config.setDefaults(["n": "many", "k": #"{"a": [1, "x"]}"#, "big": "300"])
        let wrong = #expect(throws: DecodingError.self) { try config.decoded(as: Settings.self) }
        guard case .typeMismatch(_, let context)? = wrong else { throw try #require(wrong) }
        #expect(context.codingPath.map(\.stringValue) == ["n"])
        #expect(context.debugDescription == #"expected a number, found the value "many""#)
        let inner = #expect(throws: DecodingError.self) { try config.decoded(as: Nested.self) }
        guard case .typeMismatch(_, let context)? = inner else { throw try #require(inner) }
        #expect(context.codingPath.map(\.stringValue).prefix(2) == ["k", "a"] && context.codingPath.count == 3)
        let tooBig = #expect(throws: DecodingError.self) { try config["big"].decoded(as: UInt8.self) }
        #expect("\(try #require(tooBig))".contains("300 is out of range for UInt8"))
        let missing = #expect(throws: DecodingError.self) { try place.start().decoded(as: Settings.self) }
        guard case .keyNotFound(let key, _)? = missing else { throw try #require(missing) }
        #expect(key.stringValue == "n")
        let text = #expect(throws: DecodingError.self) { try config["n"].decoded(as: Settings.self) }
        #expect("\(try #require(text))".contains("expected an object"))
    }

    /// The decoder's strategies apply to parameters and to the JSON inside them.
    @Test func configDecoderStrategiesApply() throws {
        struct Snake: Decodable, Equatable {
            struct Inner: Decodable, Equatable { let innerName: String }
            let cookTime: Int
            let theRecipe: Inner
            let map: [String: Int]
        }
        let config = place.start()
        config.setDefaults([
            "cook_time": "7", "the_recipe": #"{"inner_name": "x"}"#, "map": #"{"a_b": 1}"#, "seconds": "86400",
            "iso": "2023-11-14T22:13:20Z",
        ])
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        #expect(
            try config.decoded(as: Snake.self, decoder: decoder)
                == Snake(cookTime: 7, theRecipe: .init(innerName: "x"), map: ["a_b": 1]))
        #expect(try config.decoded(as: [String: String].self, decoder: decoder)["cook_time"] == "7")
        decoder.keyDecodingStrategy = .custom { path in
            struct Key: CodingKey {
                var stringValue: String
                var intValue: Int? { nil }
                init(stringValue: String) { self.stringValue = stringValue }
                init?(intValue: Int) { nil }
            }
            return Key(stringValue: path.last?.stringValue.replacing("_", with: "") ?? "")
        }
        struct Custom: Decodable { let cooktime: Int }
        #expect(try config.decoded(as: Custom.self, decoder: decoder).cooktime == 7)

        #expect(try config["seconds"].decoded(as: Date.self) == Date(timeIntervalSinceReferenceDate: 86400))
        for (strategy, key, seconds): (JSONDecoder.DateDecodingStrategy, String, Double) in [
            (.secondsSince1970, "seconds", 86_400), (.millisecondsSince1970, "seconds", 86.4),
            (.custom { _ in Date(timeIntervalSince1970: 5) }, "iso", 5), (.iso8601, "iso", 1_700_000_000),
        ] {
            decoder.dateDecodingStrategy = strategy
            let date = Date(timeIntervalSince1970: seconds)
            let subscripted: Date? = config[decodedValue: key, decoder]
            #expect(try config[key].decoded(as: Date.self, decoder: decoder) == date && subscripted == date)
        }
        #expect(throws: DecodingError.self) { try config["seconds"].decoded(as: Date.self, decoder: decoder) }
    }

    /// Decodes a type whose `init(from:)` reads nested containers.
    @Test func configDecodesNestedContainers() throws {
        struct ByHand: Decodable {
            enum Outer: String, CodingKey { case recipe, list, gone }
            enum Inner: String, CodingKey { case a }
            let a: Int
            let first: Int
            init(from decoder: any Decoder) throws {
                let outer = try decoder.container(keyedBy: Outer.self)
                a = try outer.nestedContainer(keyedBy: Inner.self, forKey: .recipe).decode(Int.self, forKey: .a)
                var list = try outer.nestedUnkeyedContainer(forKey: .list)
                first = try list.decode(Int.self)
                #expect(!outer.contains(.gone) && Set(outer.allKeys) == [.recipe, .list])
                #expect(try outer.decodeIfPresent(Int.self, forKey: .gone) == nil)
            }
        }
        let config = place.start()
        config.setDefaults(["recipe": #"{"a": 5}"#, "list": "[8]"])
        let read = try config.decoded(as: ByHand.self)
        #expect(read.a == 5 && read.first == 8)
        #expect(throws: DecodingError.self) { try config.decoded(as: [Int].self) }
    }
}

/// A random number generator with reproducible results (splitmix64).
struct SteppedNumbers {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func below(_ limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(limit))
    }
}
