import RemoteSettingsModel
@testable import TargetFilter
import Testing

struct RecordFilterTests {
    private func record(_ fields: String) throws -> Record {
        let body = #"{"metadata":{"id":"c","bucket":"main"},"timestamp":1,"changes":[{"id":"a"\#(fields)}]}"#
        return try #require(try Changeset(parsing: Bytes(utf8: body)).records.first)
    }

    private let context = FilterContext.app(
        channel: "nightly", version: "133.0", locale: "de-AT", formFactor: "phone", country: "AT", appID: "org.example",
        os: "Android", osVersion: "15", custom: ["plan": "pro", "beta": true])

    @Test(arguments: [
        ("", FilterOutcome.passed), (#","filter_expression":"""#, .passed), (#","filter_expression":" \t\n""#, .passed),
        (#","filter_expression":null"#, .passed), (#","filter_expression":"true""#, .passed),
        (#","filter_expression":"1 == 2""#, .rejected), (#","filter_expression":"1""#, .notBoolean(1)),
        // A filter that is not a string excludes the record, as its audience is unknown. Mobile includes it.
        (#","filter_expression":5"#, .failed(.notAString(found: "a number"))),
        (#","filter_expression":false"#, .failed(.notAString(found: "a boolean"))),
        (#","filter_expression":{}"#, .failed(.notAString(found: "an object"))),
        (#","filter_expression":["true"]"#, .failed(.notAString(found: "an array"))),
        (#","filter_expression":"1 +""#, .failed(.syntax(offset: 3, expected: "an operand", found: "the end"))),
        (#","x":{"filter_expression":"false"}"#, .passed), (#","x":"\"filter_expression\":false""#, .passed),
        (#","filter_expression":"env.appinfo.OS == 'Android'","z":1"#, .passed),
        (#","filter_expression":"env.plan == \"pro\"""#, .passed),
    ])
    func outcomeOfRecordFilter(_ fields: String, _ expected: FilterOutcome) throws {
        let record = try record(fields)
        var filter = RecordFilter(context: context)
        #expect(filter.outcome(of: record) == expected)
        #expect(filter.outcome(of: record) == expected)
        #expect(filter.includes(record) == expected.isIncluded)
        #expect(RecordFilter.includes(record: record, context: context) == expected.isIncluded)
    }

    /// All filters of a read share one budget. Cached outcomes cost nothing.
    @Test func filtersOfAReadShareABudget() throws {
        var filter = RecordFilter(context: context, steps: 1000)
        #expect(filter.outcome(of: "env.beta") == .passed)
        var outcomes: [FilterOutcome] = []
        for number in 0..<500 { outcomes.append(filter.outcome(of: "env.beta && \(number) < 1000")) }
        let passed = outcomes.prefix { $0 == .passed }.count
        #expect((10..<490).contains(passed))
        #expect(outcomes[passed...].allSatisfy { $0 == .failed(.tooMuchWorkInRead(limit: 1000)) })
        #expect(filter.unevaluated == 500 - passed)
        #expect(filter.outcome(of: "env.beta") == .passed && filter.outcome(of: " ") == .passed)
        #expect(filter.unevaluated == 500 - passed)
    }

    /// A single costly filter excludes only its record.
    @Test func costlyFilterExcludesOnlyItsRecord() throws {
        var filter = RecordFilter(context: .app(custom: ["text": .string(String(repeating: "a", count: 500))]))
        let costly = "env.text|regExpMatch('(a*)*(a*)*(a*)*b') == null"
        #expect(filter.outcome(of: costly) == .failed(.tooMuchWork(limit: FilterLimits.steps)))
        #expect(filter.outcome(of: "1 == 1") == .passed && filter.unevaluated == 0)
    }

    /// Each pattern alone stays just below the limit for one evaluation.
    @Test(.timeLimit(.minutes(1))) func manyCostlyPatternsAreStopped() throws {
        let text = String(repeating: "a", count: 2000)
        var filter = RecordFilter(context: .app(custom: ["text": .string(text)]))
        for number in 0..<20_000 {
            _ = filter.outcome(of: "env.text|regExpMatch('(a|a|a|a|a|a)*\(number)') == null")
        }
        #expect(filter.unevaluated > 15_000)
    }

    /// A cached outcome is not reused for a canonically equivalent filter, which Swift's `==` considers equal.
    @Test func unicodeFormsAreDistinctInFilters() throws {
        let (one, two) = ("caf\u{E9}", "cafe\u{301}")
        let context = FilterContext.app(
            country: two, custom: [one.exact: 1, two.exact: 2],
            preferences: FilterPreferences(values: [two.exact: true], userSet: [two.exact]))
        var filter = RecordFilter(context: context)
        for expression in ["env.country == '*'", "env['*'] == 2", "'*'|preferenceIsUserSet", "'*'|preferenceExists"] {
            func outcome(_ spelling: String) -> FilterOutcome {
                filter.outcome(of: expression.replacing("*", with: spelling))
            }
            #expect(outcome(one) == .rejected && outcome(two) == .passed, "\(expression)")
        }
        #expect(FilterValue.string(one) != .string(two) && FilterValue.object(context.root) == .object(context.root))
    }

    @Test(arguments: [
        "env.channel == 'nightly'", "env.version|versionCompare('133.0') == 0", "env.locale == 'de-AT'",
        "env.formFactor == 'phone'", "env.country == 'AT'", "env.os.name == 'Android' && env.os.version == '15'",
        "env.appinfo.os.name == 'Android' && env.appinfo.os.version == '15'",
        "env.appinfo.OS == 'Android' && env.appinfo.ID == 'org.example'", "env.plan == 'pro' && env.beta",
        "'plan' in env", "env.missing == null", "env.locale in ['de-DE', 'de-AT']",
        "env.locale|regExpMatch('^de') != null",
    ])
    func appAttributesInFilter(_ text: String) throws {
        #expect(try FilterExpression(parsing: text).matches(context))
        #expect(try FilterExpression(parsing: text).matches(.empty) == (text == "env.missing == null"))
    }

    /// Custom attributes replace built-in ones, as in Mozilla's mobile client, which merges them last.
    @Test func customAttributeReplacesOfficialOne() throws {
        let context = FilterContext.app(
            channel: "nightly", locale: "de", appID: "org.example", os: "iOS",
            custom: ["channel": "beta", "appinfo": ["ID": "other"]])
        let texts = [
            "env.channel == 'beta'", "env.locale == 'de'", "env.appinfo.ID == 'other'", "env.appinfo.OS == null",
        ]
        for text in texts {
            #expect(try FilterExpression(parsing: text).matches(context), "\(text)")
        }
    }

    @Test(arguments: [("WINNT", "isWindows"), ("Darwin", "isMac"), ("Linux", "isLinux"), ("iOS", "isPhone")])
    func operatingSystemFlags(_ os: String, _ name: String) throws {
        for member in ["isWindows", "isMac", "isLinux"] {
            let filter = try FilterExpression(parsing: "env.os.\(member)")
            #expect(filter.matches(.app(os: os)) == (member == name))
            #expect(!filter.matches(.empty))
        }
    }

    /// A missing attribute is undefined, so a negated comparison includes the record.
    @Test func missingAttributeIsUndefined() throws {
        #expect(try FilterExpression(parsing: #"env.appinfo.OS != "iOS""#).matches(.empty))
        #expect(try FilterExpression(parsing: #"env.appinfo.OS == "iOS""#).matches(.empty) == false)
        #expect(try FilterExpression(parsing: #"env.version|versionCompare("1") >= 0"#).matches(.empty) == false)
    }

    @Test(arguments: [
        (#"fromLang == "en" && attachment.size < 1000000"#, true), (#"id in ["a", "b"]"#, true),
        ("attachment.size > 1000000", false), ("'attachment' in {}", false),
        ("attachment.filename|regExpMatch('[.]bin$') != null", true),
        ("version|versionCompare('1.0') > 0 && !deleted", true), ("tags[0] == 'x'", true),
    ])
    func filterOverRecordFields(_ text: String, _ expected: Bool) throws {
        let record = try record(
            #","fromLang":"en","version":"2.1","tags":["x"],"attachment":{"filename":"m.bin","size":999999,"hash":"h","location":"l","mimetype":"t"}"#
        )
        #expect(try FilterExpression(parsing: text).matches(try FilterContext(record: record)) == expected)
    }

    @Test func filterValueFromJSON() throws {
        let json = try JSONValue(parsing: Bytes(utf8: #"{"n":1.5e3,"b":[true,null,"x"],"o":{}}"#))
        #expect(FilterValue(json) == ["n": 1500, "b": [true, .null, "x"], "o": [:]])
        #expect(FilterValue(json).description == #"{"n": 1500, "b": [true, null, "x"], "o": {}}"#)
    }
}
