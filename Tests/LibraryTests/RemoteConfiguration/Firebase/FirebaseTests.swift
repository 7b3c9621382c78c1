// Firebase's public Swift tests (firebase-ios-sdk, FirebaseRemoteConfig/Tests/Swift) and its quickstart, in words of
// our own. Those that differ from another one only in the form of a call are left out: FirebaseGetStarted has both.

import Foundation
import RemoteConfiguration
import RemoteSettingsTesting
import Testing

/// What a test of Firebase's comes to here.
enum FirebaseOutcome: Sendable {
    /// All that it asserts is so.
    case holds
    /// Something is not, for this reason.
    case differs(String)
}

struct FirebaseTests {
    typealias Body = @Sendable () async throws -> Void
    typealias Row = (name: String, outcome: FirebaseOutcome, body: Body)

    /// Each test by its class and name.
    static let table: [Row] =
        fetching + updates + values + structures + wrappers

    static func row(_ name: String, _ outcome: FirebaseOutcome, _ body: @escaping Body) -> Row {
        (name, outcome, body)
    }

    @Test(arguments: table.map(\.name))
    func outcome(_ name: String) async throws {
        let row = try #require(Self.table.first { $0.name == name })
        try await row.body()
    }

    @Test func everyTestIsThereOnce() {
        #expect(Set(Self.table.map(\.name)).count == Self.table.count)
    }

    // MARK: Fetching

    private static let fetching: [Row] = [
        row("APITests.testFetchThenActivate", .holds) {
            let console = try await FirebaseConsole(isFetched: false)
            let config = console.config
            #expect(try await FirebaseConsole.outcome { config.fetch(completionHandler: $0) } == .success)
            _ = try await FirebaseConsole.outcome { config.activate(completion: $0) }
            #expect(config["Key1"].stringValue == "Value1")
        },
        row("APITests.testFetchWithExpirationThenActivate", .holds) {
            let console = try await FirebaseConsole(isFetched: false)
            let config = console.config
            let status = try await FirebaseConsole.outcome {
                config.fetch(withExpirationDuration: 0, completionHandler: $0)
            }
            #expect(status == .success)
            _ = try await FirebaseConsole.outcome { config.activate(completion: $0) }
            #expect(config["Key1"].stringValue == "Value1")
        },
        row("APITests.testFetchAndActivate", .holds) {
            let console = try await FirebaseConsole(isFetched: false)
            let config = console.config
            let status = try await FirebaseConsole.outcome { config.fetchAndActivate(completionHandler: $0) }
            #expect(status == .successFetchedFromRemote && config["Key1"].stringValue == "Value1")
        },
        row("APITests.testUnchangedActivateWillFlag", .holds) {
            let console = try await FirebaseConsole(isFetched: false)
            let config = console.config
            for isChange in [true, false] {
                #expect(try await FirebaseConsole.outcome { config.fetch(completionHandler: $0) } == .success)
                #expect(try await FirebaseConsole.outcome { config.activate(completion: $0) } == isChange)
                #expect(config["Key1"].stringValue == "Value1")
            }
        },
        row("APITests.testFetchAndActivateUnchangedConfig", .holds) {
            let console = try await FirebaseConsole(isFetched: false)
            let config = console.config
            #expect(config.configSettings.minimumFetchInterval == 0)
            #expect(try await FirebaseConsole.outcome { config.fetch(completionHandler: $0) } == .success)
            let status = try await FirebaseConsole.outcome { config.fetchAndActivate(completionHandler: $0) }
            #expect(status == .successFetchedFromRemote && config.lastFetchTime != nil)
        },
        row("APITests.testFetchConfigThenUpdateConsoleThenFetchAgain", .holds) { try await change("Yoda") },
        row("APITests.testFetchConfigThenAddValueOnConsoleThenFetchAgain", .holds) { try await add() },
        row("APITests.testFetchConfigThenDeleteValueOnConsoleThenFetchAgain", .holds) { try await delete() },
        row("FakeConsoleTests.testChangedActivateWillNotFlag", .holds) {
            let console = try await FirebaseConsole(isFetched: false)
            for text in ["Value1", "Value2"] {
                try console.place.put("Key1", text)
                #expect(try await console.config.fetch() == .success)
                #expect(try await console.config.activate())
                #expect(console.config["Key1"].stringValue == text)
            }
        },
        row("AsyncAwaitTests.testFetchThenActivate", .holds) {
            let console = try await FirebaseConsole(isFetched: false)
            #expect(try await console.config.fetch() == .success)
            #expect(try await console.config.activate())
        },
        row("AsyncAwaitTests.testSetCustomSignals", .holds) {
            // Firebase's test looks into its own state; what signals are for can be seen.
            let console = try await FirebaseConsole()
            try console.place.put(
                "Key1", "signalled", id: "signals",
                filter: "env.signal_1 == 5 && env.signal_2 == 'basic' && env.signal_3 == 3.14159")
            try await console.config.setCustomSignals([
                "signal_1": .integer(5), "signal_2": .string("basic"), "signal_3": .double(3.14159),
            ])
            try await console.config.fetchAndActivate()
            #expect(console.config["Key1"].stringValue == "signalled")
        },
        row("AsyncAwaitTests.testSetCustomSignalsMultipleTimes", .holds) {
            let console = try await FirebaseConsole()
            try console.place.put(
                "Key1", "signalled", id: "signals",
                filter: "env.signal_1 == 6 && env.signal_2 == 'basic' && !('signal_3' in env) && env.signal_4 == 100 "
                    + "&& env.signal_5 == 3.1234")
            try await console.config.setCustomSignals(["signal_1": 6, "signal_2": "basic", "signal_3": 3.14])
            try await console.config.fetchAndActivate()
            #expect(console.config["Key1"].stringValue == "Value1")
            try await console.config.setCustomSignals([
                "signal_4": .integer(100), "signal_3": nil, "signal_5": .double(3.1234),
            ])
            #expect(try await console.config.activate())
            #expect(console.config["Key1"].stringValue == "signalled")
        },
    ]

    private static func change(_ text: String) async throws {
        let console = try await FirebaseConsole()
        #expect(console.config.configValue(forKey: "Jedi").stringValue == "Obi-Wan")
        try console.place.put("Jedi", text)
        try await console.config.fetchAndActivate()
        #expect(console.config.configValue(forKey: "Jedi").stringValue == text)
    }

    private static func add() async throws {
        let console = try await FirebaseConsole()
        #expect(console.config.configValue(forKey: "Sith_Lord").dataValue.isEmpty)
        try console.place.put("Sith_Lord", "Darth Sidious")
        try await console.config.fetchAndActivate()
        #expect(console.config.configValue(forKey: "Sith_Lord").stringValue == "Darth Sidious")
    }

    private static func delete() async throws {
        let console = try await FirebaseConsole()
        #expect(console.config.configValue(forKey: "Jedi").stringValue == "Obi-Wan")
        console.place.collection.delete("Jedi")
        try await console.config.fetchAndActivate()
        #expect(console.config.configValue(forKey: "Jedi").dataValue.isEmpty)
    }

    // MARK: Updates

    private static let updates: [Row] = [
        row("APITests.testRealtimeRemoteConfigFakeConsole", .holds) { try await hearOfUpdate() },
        row("AsyncSequenceTests.testSequenceYieldsUpdate_whenUpdateIsSent", .holds) {
            let console = try await FirebaseConsole()
            var updates = console.config.configUpdates.makeAsyncIterator()
            try console.place.put(all: ["Key1": "x", "Jedi": "y"])
            try await console.config.fetch()
            #expect(try await updates.next()?.updatedKeys == ["Key1", "Jedi"])
        },
        row("AsyncSequenceTests.testSequenceFinishes_whenErrorIsSent", .holds) {
            let console = try await FirebaseConsole()
            let updates = console.config.configUpdates
            try console.place.collection.put("stranger", ["no": "parameter"])
            await #expect(throws: RemoteConfigError.self) { try await console.config.fetch() }
            await #expect(throws: RemoteConfigError.self) { for try await _ in updates {} }
        },
        row("AsyncSequenceTests.testSequenceCancellation_callsRemoveOnListener", .holds) {
            let console = try await FirebaseConsole()
            let updates = console.config.configUpdates
            let loop = Task { for try await _ in updates {} }
            loop.cancel()
            try await loop.value
        },
        row("AsyncSequenceTests.testSequenceFinishesGracefully_whenListenerSendsNil", .holds) {
            // What ends the sequence here is that the remote config is gone.
            var console: FirebaseConsole? = try await FirebaseConsole()
            var updates = try #require(console).config.configUpdates.makeAsyncIterator()
            console = nil
            #expect(try await updates.next() == nil)
        },
        row("AsyncSequenceTests.testSequenceYieldsMultipleUpdates_whenMultipleUpdatesAreSent", .holds) {
            let console = try await FirebaseConsole()
            var updates = console.config.configUpdates.makeAsyncIterator()
            try console.place.put(all: ["Key1": "x", "Jedi": "y"])
            try await console.config.fetch()
            #expect(try await updates.next()?.updatedKeys == ["Key1", "Jedi"])
            try await console.config.activate()
            try console.place.put("myInt", "7")
            try await console.config.fetch()
            #expect(try await updates.next()?.updatedKeys == ["myInt"])
        },
    ]

    private static func hearOfUpdate() async throws {
        let console = try await FirebaseConsole()
        let heard = Collector<Set<String>>()
        let problems = Collector<String>()
        let registration = console.config.addOnConfigUpdateListener { update, error in
            if let update { heard.add(update.updatedKeys) }
            if let error { problems.add("\(error)") }
        }
        try console.place.put("Jedi", "Yoda")
        try await console.config.fetch()
        try await heard.has(1)
        registration.remove()
        #expect(heard.all == [["Jedi"]] && problems.all.isEmpty)
    }

    // MARK: Values

    private static let values: [Row] = [
        row("ValueTests.testFetchAndActivateAllTypes", .differs("it casts jsonValue; with jsonObject it holds")) {
            let config = try await FirebaseConsole().config
            #expect(config["myString"].stringValue == "string contents")
            let number = config["myInt"].numberValue
            #expect(number.intValue == 123 && number.int8Value == 123 && number.int16Value == 123)
            #expect(number.int32Value == 123 && number.int64Value == 123 && number.uintValue == 123)
            #expect(number.uint8Value == 123 && number.uint16Value == 123 && number.uint32Value == 123)
            #expect(number.uint64Value == 123)
            let real = config["myFloat"].numberValue
            #expect(real.decimalValue == Decimal(42.75) && real.floatValue == 42.75 && real.doubleValue == 42.75)
            #expect(config["myTrue"].boolValue && !config["myFalse"].boolValue)
            #expect(config["myString"].dataValue == Data("string contents".utf8))
            // It casts jsonValue.
            #expect(config["Recipe"].jsonObject == recipe)
        },
        row("ValueTests.testStrongTypingViaSubscriptApi", .holds) {
            let config = try await FirebaseConsole().config
            #expect(config[decodedValue: "myString"] == "string contents")
            #expect(config[decodedValue: "myInt"] == 123)
            #expect(config[decodedValue: "myFloat"] == Float(42.75))
            #expect(config[decodedValue: "myFloat"] == 42.75)
            #expect(config[decodedValue: "myTrue"] == true && config[decodedValue: "myFalse"] == false)
            #expect(config[decodedValue: "myString"] == Data("string contents".utf8))
            // The compiler does not know config[jsonValue:].
            #expect(config["Recipe"].jsonObject == recipe)
        },
        row("ValueTests.testStrongTypingViaDecoder", .holds) {
            let config = try await FirebaseConsole().config
            #expect(try config["myString"].decoded(as: String.self) == "string contents")
            #expect(try config["myInt"].decoded(as: Int.self) == 123)
            #expect(try config["myInt"].decoded(as: Int8.self) == 123)
            #expect(try config["myInt"].decoded(as: Int16.self) == 123)
            #expect(try config["myInt"].decoded(as: Int32.self) == 123)
            #expect(try config["myInt"].decoded(as: Int64.self) == 123)
            #expect(try config["myInt"].decoded(as: UInt.self) == 123)
            #expect(try config["myInt"].decoded(as: UInt8.self) == 123)
            #expect(try config["myInt"].decoded(as: UInt16.self) == 123)
            #expect(try config["myInt"].decoded(as: UInt32.self) == 123)
            #expect(try config["myInt"].decoded(as: UInt64.self) == 123)
            #expect(try config["myFloat"].decoded(as: Decimal.self) == Decimal(42.75))
            #expect(try config["myFloat"].decoded(as: Float.self) == 42.75)
            #expect(try config["myFloat"].decoded(as: Double.self) == 42.75)
            #expect(try config["myTrue"].decoded(as: Bool.self))
            #expect(try !config["myFalse"].decoded(as: Bool.self))
            #expect(try config["myString"].decoded(as: Data.self) == Data("string contents".utf8))
        },
        row("ValueTests.testStringFails", .holds) {
            let config = try await FirebaseConsole(isFetched: false).config
            #expect(config[decodedValue: "UndefinedKey"] == "")
            let text: String? = config[decodedValue: "UndefinedKey"]
            #expect(text == "")
        },
        row("ValueTests.testJSONFails", .holds) {
            let config = try await FirebaseConsole().config
            #expect(config["UndefinedKey"].jsonValue == nil && config["myString"].jsonValue == nil)
        },
        row("ValueTests.testDateDecodingNotYetSupported", .differs("a Date can be decoded")) {
            let config = try await FirebaseConsole().config
            #expect(throws: DecodingError.self) { let _: Date = try config["myString"].decoded() }
            #expect(try config["myInt"].decoded(as: Date.self) == Date(timeIntervalSinceReferenceDate: 123))
        },
    ]

    private static var recipe: [String: AnyHashable] {
        ["recipeName": "PB&J", "ingredients": ["bread", "peanut butter", "jelly"], "cookTime": 7]
    }

    // MARK: Structures

    private static let structures: [Row] = [
        row("CodableTests.testFetchAndActivateWithCodable", .holds) {
            let config = try await FirebaseConsole().config
            #expect(try config["Recipe"].decoded(as: FirebaseConsole.Recipe.self) == .sandwich)
        },
        row("CodableTests.testFetchAndActivateWithCodableBadJson", .differs("the text of the error")) {
            let config = try await FirebaseConsole().config
            let error = #expect(throws: DecodingError.self) {
                try config["notJSON"].decoded(as: FirebaseConsole.Recipe.self)
            }
            guard case .typeMismatch(_, let context)? = error else { throw try #require(error) }
            #expect(context.debugDescription == #"expected an object, found the value "notJSON""#)
        },
        row("CodableTests.testSetEncodeableDefaults", .holds) {
            struct Defaults: Encodable {
                var bool = true
                var int: Int32 = 2
                var long: Int64 = 9_876_543_210
                var string = "four"
            }
            let config = try await FirebaseConsole(isFetched: false).config
            try config.setDefaults(from: Defaults())
            #expect(try #require(config.defaultValue(forKey: "bool")).numberValue.boolValue)
            #expect(config.defaultValue(forKey: "int")?.numberValue.intValue == 2)
            #expect(config.defaultValue(forKey: "long")?.numberValue.int64Value == 9_876_543_210)
            #expect(config.defaultValue(forKey: "string")?.stringValue == "four")
        },
        row("CodableTests.testSetEncodeableDefaultsInvalid", .differs("the error is invalidDefaults")) {
            let config = try await FirebaseConsole(isFetched: false).config
            let error = #expect(throws: RemoteConfigError.self) { try config.setDefaults(from: 7) }
            guard case .invalidDefaults(let reason)? = error else { throw try #require(error) }
            #expect(reason.hasPrefix("Int must be encoded as an object"))
        },
        row("CodableTests.testExtractConfig", .holds) {
            let config = try await FirebaseConsole().config
            let my: FirebaseConsole.MyConfig = try config.decoded()
            #expect(my.notJSON == "notJSON" && my.myInt == 123 && my.myTrue && my.myFloat == 42.75)
            #expect(my.myDecimal == 375.785 && my.myData == Data("data".utf8) && my.Recipe == .sandwich)
        },
        row("CodableTests.testExtractConfigMissing", .holds) {
            struct Missing: Decodable {
                var missing: String
                var Recipe: String
                var notJSON: String
            }
            let config = try await FirebaseConsole().config
            let error = #expect(throws: DecodingError.self) { let _: Missing = try config.decoded() }
            guard case .keyNotFound(let key, _)? = error else { throw try #require(error) }
            #expect(key.stringValue == "missing")
        },
        row("CodableTests.testCodableAfterPlistDefaults", .holds) {
            struct Defaults: Codable {
                let format: String
                let isPaidUser: Bool
                let newItem: Double
                let Languages: String
                let dictValue: [String: String]
                let arrayValue: [String]
                let arrayIntValue: [Int]
            }
            let values: [String: Any] = [
                "format": "key to value.", "isPaidUser": true, "newItem": 2.4, "Languages": "English",
                "dictValue": ["foo": "foo", "bar": "bar"], "arrayValue": ["foo", "bar"], "arrayIntValue": [1, 2, 0, 3],
            ]
            let config = try await FirebaseConsole(isFetched: false).config
            try config.setDefaults(
                plist: PropertyListSerialization.data(fromPropertyList: values, format: .xml, options: 0))
            let defaults: Defaults = try config.decoded()
            #expect(defaults.format == "key to value." && defaults.isPaidUser && defaults.newItem == 2.4)
            #expect(defaults.Languages == "English" && defaults.dictValue == ["foo": "foo", "bar": "bar"])
            #expect(defaults.arrayValue == ["foo", "bar"] && defaults.arrayIntValue == [1, 2, 0, 3])
        },
        row(
            "CodableTests.testDateEncodingAndDecodingWithNonDefaultCoders",
            .differs("the coders are JSONEncoder and JSONDecoder")
        ) {
            struct DateDefaults: Codable { let date: Date }
            let config = try await FirebaseConsole(isFetched: false).config
            let defaults = DateDefaults(date: Date(timeIntervalSince1970: 1_700_000_000))
            // FirebaseDataEncoder and FirebaseDataDecoder are Foundation's coders of JSON.
            let encoder = JSONEncoder()
            encoder.dateEncodingStrategy = .iso8601
            try config.setDefaults(from: defaults, encoder: encoder)
            let improper: DateDefaults = try config.decoded()
            #expect(improper.date != defaults.date)
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            let proper: DateDefaults = try config.decoded(decoder: decoder)
            #expect(proper.date == defaults.date)
        },
    ]

    // MARK: Wrappers

    private struct Tester {
        @RemoteConfigProperty var string: String!
        @RemoteConfigProperty var int: Int!
        @RemoteConfigProperty var float: Float!
        @RemoteConfigProperty var double: Double!
        @RemoteConfigProperty var decimal: Decimal!
        @RemoteConfigProperty var on: Bool!
        @RemoteConfigProperty var off: Bool!
        @RemoteConfigProperty var data: Data!
        @RemoteConfigProperty var recipe: FirebaseConsole.Recipe!
        @RemoteConfigProperty var fruits: [String]!
        @RemoteConfigProperty var platforms: [String: String]!

        /// - Parameter prefix: goes before each key.
        init(_ config: RemoteConfig, prefix: String = "", on: Bool = false, off: Bool = true) {
            _string = .init(key: prefix + "myString", fallback: "fallback", config: config)
            _int = .init(key: prefix + "myInt", fallback: 50, config: config)
            _float = .init(key: prefix + "myFloat", fallback: 50.2, config: config)
            _double = .init(key: prefix + "myFloat", fallback: 16_777_216.333921, config: config)
            _decimal = .init(key: prefix + "myDecimal", fallback: 235, config: config)
            _on = .init(key: prefix + "myTrue", fallback: on, config: config)
            _off = .init(key: prefix + "myFalse", fallback: off, config: config)
            _data = .init(key: prefix + "myData", fallback: Data("hello".utf8), config: config)
            _recipe = .init(key: prefix + "Recipe", fallback: nil, config: config)
            _fruits = .init(key: prefix + "fruits", fallback: ["kiwi"], config: config)
            _platforms = .init(key: prefix + "platforms", fallback: ["a": "b"], config: config)
        }

        var keys: [String] {
            [
                _string.key, _int.key, _float.key, _double.key, _decimal.key, _on.key, _off.key, _data.key, _recipe.key,
                _fruits.key, _platforms.key,
            ]
        }
    }

    private static let wrappers: [Row] = [
        row("PropertyWrapperTests.testFetchAndActivateWithPropertyWrapper", .holds) {
            let console = try await FirebaseConsole()
            let tester = Tester(console.config)
            #expect(tester.string == "string contents" && tester.int == 123 && tester.float == 42.75)
            #expect(tester.double == 42.75 && tester.decimal == 375.785 && tester.on == true && tester.off == false)
            #expect(tester.data == Data("data".utf8) && tester.recipe == .sandwich)
            #expect(tester.fruits == ["mango", "pineapple", "papaya"])
            #expect(tester.platforms == ["iOS": "14.0", "macOS": "14.0"])
        },
        row("PropertyWrapperTests.testPropertyWrapperInstanceValues", .holds) {
            let console = try await FirebaseConsole()
            let keys = [
                "myString", "myInt", "myFloat", "myFloat", "myDecimal", "myTrue", "myFalse", "myData", "Recipe",
                "fruits",
                "platforms",
            ]
            #expect(Tester(console.config).keys == keys)
        },
        row("PropertyWrapperTests.testPlaceHolderValues", .holds) {
            let console = try await FirebaseConsole()
            let tester = Tester(console.config, prefix: "new ")
            #expect(tester.string == "fallback" && tester.int == 50 && tester.float == 50.2)
            #expect(tester.double == 16_777_216.333921 && tester.decimal == 235 && tester.on == false)
            #expect(tester.off == true && tester.data == Data("hello".utf8) && tester.recipe == nil)
            #expect(tester.fruits == ["kiwi"] && tester.platforms == ["a": "b"])
        },
        row("PropertyWrapperDefaultConfigsTests.testDefaultValues", .holds) {
            let console = try await FirebaseConsole()
            try console.config.setDefaults(from: ["only here": FirebaseConsole.Recipe.sandwich])
            let fallback = FirebaseConsole.Recipe(recipeName: "test", ingredients: [], cookTime: 0)
            let property = RemoteConfigProperty(key: "only here", fallback: fallback, config: console.config)
            #expect(property.wrappedValue == .sandwich)
        },
    ]

    // MARK: Names

    /// The lines of Firebase's test of its API's names that hold, compiled and not run. FromFirebase.md lists
    /// the others.
    func usage(_ config: RemoteConfig) throws {
        let _: String = RemoteConfigThrottledEndTimeInSecondsKey
        let _: String = RemoteConfigErrorDomain
        let _: String = RemoteConfigError.errorDomain
        switch RemoteConfigFetchStatus(rawValue: 1) ?? .noFetchYet {
        case .noFetchYet, .success, .failure, .throttled: break
        }
        switch RemoteConfigFetchAndActivateStatus(rawValue: 0) ?? .error {
        case .successFetchedFromRemote, .successUsingPreFetchedData, .error: break
        }
        let code: RemoteConfigError.Code = .unknown
        switch code {
        case .unknown, .throttled, .internalError: break
        }
        let updateCode: RemoteConfigUpdateError.Code = .unavailable
        switch updateCode {
        case .streamError, .notFetched, .messageInvalid, .unavailable: break
        }
        let _: [RemoteConfigUpdateError.Code] = [
            RemoteConfigUpdateError.streamError, RemoteConfigUpdateError.notFetched,
            RemoteConfigUpdateError.messageInvalid, RemoteConfigUpdateError.unavailable,
        ]
        let _: String = RemoteConfigUpdateErrorDomain
        let _: String = RemoteConfigUpdateError.errorDomain
        let _: [RemoteConfigError.Code] = [
            RemoteConfigError.unknown, RemoteConfigError.throttled, RemoteConfigError.internalError,
        ]
        let value = config["key"]
        let _: String? = value.stringValue
        let _: Data = value.dataValue
        let _: Bool = value.boolValue
        let _: Any? = value.jsonValue
        let source: RemoteConfigSource = value.source
        var settings = RemoteConfigSettings()
        settings.minimumFetchInterval = TimeInterval(100)
        settings.fetchTimeout = TimeInterval(100)
        let _: RemoteConfigSettings = config.configSettings
        let _: RemoteConfigValue = config.configValue(forKey: "key")
        let _: RemoteConfigValue = config.configValue(forKey: nil)
        let _: RemoteConfigValue = config.configValue(forKey: "key", source: source)
        let _: RemoteConfigValue = config.configValue(forKey: nil, source: source)
        let _: [String] = config.allKeys(from: source)
        let _: Set<String> = config.keys(withPrefix: "")
        let _: Set<String> = config.keys(withPrefix: nil)
        config.setDefaults(nil)
        config.setDefaults([:])
        try config.setDefaults(fromPlist: "")
        try config.setDefaults(fromPlist: nil)
        let _: RemoteConfigValue? = config.defaultValue(forKey: "")
        let _: RemoteConfigValue? = config.defaultValue(forKey: nil)
        struct MyDecodableValue: Decodable {}
        struct MyEncodableValue: Encodable {}
        let _: MyDecodableValue? = config[decodedValue: ""]
        let _: MyDecodableValue = try value.decoded()
        let _: MyDecodableValue = try value.decoded(as: MyDecodableValue.self)
        let _: MyDecodableValue? = try config.decoded()
        let _: MyDecodableValue? = try config.decoded(as: MyDecodableValue.self)
        let _: Void = try config.setDefaults(from: MyEncodableValue())
        do {
            throw RemoteConfigError.cancelled
        } catch RemoteConfigError.throttled {
        } catch let error as RemoteConfigError where error.code == .internalError {
        } catch {
        }
    }

    @Test func numbersAndCodes() {
        #expect(RemoteConfigFetchStatus.allCases.map(\.rawValue) == [0, 1, 2, 3])
        #expect(RemoteConfigFetchStatus.throttled.rawValue == 3)
        #expect(RemoteConfigFetchAndActivateStatus.error.rawValue == 2)
        #expect(RemoteConfigError.throttled.rawValue == 8002)
        #expect(RemoteConfigError.cancelled.code == .unknown && RemoteConfigError.storage(reason: "").errorCode == 8003)
        let throttled = RemoteConfigError.paused(until: RemoteSettingsTimestamp(milliseconds: 7000), reason: "")
        #expect(RemoteConfigUpdateError.Code.allCases.map(\.rawValue) == [8001, 8002, 8003, 8004])
        #expect(RemoteConfigUpdateError.messageInvalid(reason: "").code == RemoteConfigUpdateError.messageInvalid)
        #expect(throttled.code == RemoteConfigError.throttled && throttled.throttledUntil != nil)
    }
}

/// Objects as defaults, as Apple's systems have them: an overload of the same name and shape. What is ambiguous with it
/// there would not compile here.
extension RemoteConfig {
    @_disfavoredOverload
    fileprivate func setDefaults(_ defaults: [String: NSObject]?) {
        setDefaults((defaults ?? [:]).mapValues { ($0 as? NSString).map { "\($0)" } ?? "object" })
    }
}

struct ObjectDefaultsTests {
    @Test func nothingIsNotAmbiguous() throws {
        let config = try ConfigPlace().start()
        config.setDefaults(["a": "b"])
        config.setDefaults(nil)
        #expect(config.allKeys(from: .default) == [])
        config.setDefaults([:])
        config.setDefaults(["a": "b", "c": 1])
        #expect(config.allKeys(from: .default) == ["a", "c"])
        let objects: [String: NSObject]? = ["k": NSString("text")]
        config.setDefaults(objects)
        #expect(config.text("k") == "text")
    }
}
