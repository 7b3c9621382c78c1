@testable import ConfigParameters
import RemoteSettingsModel
import TargetFilter
import Testing

/// The canonical records of a changeset that a server might send.
private func table(_ records: String) throws -> RecordTable {
    let body = #"{"metadata":{"id":"c","bucket":"main"},"timestamp":1,"changes":[\#(records)]}"#
    return try Changeset(parsing: Bytes(utf8: body)).records
}

private func set(_ records: String) throws -> ParameterSet { try ParameterSet(try table(records)) }

/// The value that wins, as JSON; `nil` if the app's own default applies.
private func value(_ set: ParameterSet, _ key: String, _ context: FilterContext = .empty) -> String? {
    var filter = RecordFilter(context: context)
    guard case .value(let json)? = set.winner(for: key, &filter)?.content else { return nil }
    return json.text
}

struct ParameterSetTests {
    @Test func readsRecords() throws {
        let records = try set(
            #"""
            {"id":"a","key":"text","value":"x","note":{"key":"other","value":[1,"}"]},"last_modified":5},
            {"id":"b","key":"n","value":-1.5},{"id":"c","key":"t","value":true},{"id":"d","key":"z","value":null},
            {"id":"e","key":"o","value":{"key":"k","value":"]\\\"","a":[{},[]]}},
            {"id":"f","key":"ü\"\\ 🦊","value":[]},{"id":"g","key":"app","in_app_default":true},
            {"id":"h","key":"app2","in_app_default":false,"value":2}
            """#)
        #expect(records.keys.sorted() == ["app", "app2", "n", "o", "t", "text", "z", "ü\"\\ 🦊"])
        #expect(value(records, "text") == #""x""#)
        #expect(value(records, "n") == "-1.5E0", "numbers are in canonical form")
        #expect(value(records, "t") == "true")
        #expect(value(records, "z") == "null")
        #expect(value(records, "o") == #"{"a":[{},[]],"key":"k","value":"]\\\""}"#)
        #expect(value(records, "ü\"\\ 🦊") == "[]")
        #expect(value(records, "app") == nil)
        #expect(records.contains("app") && !records.contains("key"))
        #expect(value(records, "app2") == "2")
        #expect(records.records.first?.record.field("note")?["key"]?.string == "other", "unknown members are kept")
    }

    @Test(arguments: [
        (#"{"id":"bad"}"#, Failure.noKey), (#"{"id":"bad","key":"k"}"#, .noValue),
        (#"{"id":"bad","key":5,"value":1}"#, .keyIsNoText), (#"{"id":"bad","key":"","value":1}"#, .invalidKey),
        (#"{"id":"bad","key":"a\nb","value":1}"#, .invalidKey),
        (#"{"id":"bad","key":"k","value":1,"in_app_default":true}"#, .valueAndInAppDefault),
        (#"{"id":"bad","key":"k","in_app_default":false}"#, .noValue),
        (#"{"id":"bad","key":"k","value":1,"in_app_default":"yes"}"#, .invalidInAppDefault),
        (#"{"id":"bad","key":"k","value":1,"priority":1.5}"#, .invalidPriority(found: "1.5E0")),
        (#"{"id":"bad","key":"k","value":1,"priority":"1"}"#, .invalidPriority(found: "\"1\"")),
        (
            #"{"id":"bad","key":"k","value":1,"priority":9007199254740992}"#,
            .invalidPriority(found: "9007199254740992")
        ),
        (
            #"{"id":"bad","key":"k","value":1,"priority":-9223372036854775808}"#,
            .invalidPriority(found: "-9223372036854775808")
        ),
        (#"{"id":"bad","key":"k","value":1,"filter_expression":true}"#, .filterIsNoText),
    ])
    func refusesOtherRecords(_ record: String, _ problem: Failure) throws {
        let table = try table(#"{"id":"aa","key":"k","value":1},\#(record),{"id":"zz","key":"k","value":1}"#)
        let error = #expect(throws: Failure.self) { try ParameterSet(table) }
        #expect(error == problem.of(record: "bad"))
        #expect("\(try #require(error))".hasPrefix("the record bad is not a parameter: "))
    }

    @Test func refusesLongKeys() throws {
        func key(_ count: Int) -> String {
            #"{"id":"bad","key":"\#(String(repeating: "ü", count: count))","value":1}"#
        }
        #expect(try set(key(256)).keys.count == 1)
        #expect(throws: Failure.invalidKey.of(record: "bad")) { try set(key(257)) }
        let long = String(repeating: "a", count: 257)
        #expect(throws: Failure.self) { try set(#"{"id":"bad","key":"\#(long)","value":1}"#) }
    }

    @Test(arguments: ["", "{", "[]", "{}x", #"{"key":"#, #"{"key":"k","value":}"#, #"{"key" :"k","value":1}"#])
    func parameterRecordMustBeCanonicalJSON(_ json: String) {
        let record = Record(id: "bad", json: Bytes(utf8: json))
        #expect(throws: Failure.self) { try ParameterRecord(record) }
    }

    /// Each of the records applies; the one that is expected to win has the value "wins".
    @Test(arguments: [
        // The highest priority wins.
        #"{"id":"a","key":"k","value":1,"filter_expression":"true","priority":1},{"id":"b","key":"k","value":"wins","filter_expression":"true","priority":2}"#,
        // Ties go to the smallest id.
        #"{"id":"b","key":"k","value":1,"filter_expression":"true","priority":2},{"id":"a","key":"k","value":"wins","filter_expression":"true","priority":2}"#,
        #"{"id":"a10","key":"k","value":"wins"},{"id":"a9","key":"k","value":1}"#,
        // No priority is priority 0.
        #"{"id":"a","key":"k","value":1,"filter_expression":"true","priority":-1},{"id":"b","key":"k","value":"wins","filter_expression":"true"}"#,
        #"{"id":"a","key":"k","value":"wins","filter_expression":"true","priority":0},{"id":"b","key":"k","value":1,"filter_expression":"true"}"#,
        // The default ranks below every other record, whatever its id.
        #"{"id":"a","key":"k","value":1},{"id":"b","key":"k","value":"wins","filter_expression":"true"}"#,
        #"{"id":"a","key":"k","value":1},{"id":"b","key":"k","value":"wins","filter_expression":"true","priority":-9007199254740991}"#,
        // A blank filter or a null one is none.
        #"{"id":"a","key":"k","value":1,"filter_expression":" "},{"id":"b","key":"k","value":"wins","filter_expression":"true"}"#,
        #"{"id":"a","key":"k","value":1,"filter_expression":null,"priority":null},{"id":"b","key":"k","value":"wins","filter_expression":"1 == 1"}"#,
        // Without filter, but with a priority: it overrides.
        #"{"id":"b","key":"k","value":"wins","priority":5},{"id":"a","key":"k","value":1,"filter_expression":"true","priority":4}"#,
        // What does not apply does not win.
        #"{"id":"a","key":"k","value":1,"filter_expression":"false","priority":9},{"id":"b","key":"k","value":"wins"}"#,
        #"{"id":"a","key":"k","value":1,"filter_expression":"1 +","priority":9},{"id":"b","key":"k","value":"wins"}"#,
        #"{"id":"a","key":"k","value":1,"filter_expression":"'text'","priority":9},{"id":"b","key":"k","value":"wins"}"#,
    ])
    func winner(_ records: String) throws {
        #expect(value(try set(records), "k") == #""wins""#)
    }

    @Test func parameterValueDependsOnContext() throws {
        let records = try set(
            #"""
            {"id":"d","key":"k","value":"all"},
            {"id":"c1","key":"k","value":"de","filter_expression":"env.locale == 'de'","priority":2},
            {"id":"c2","key":"k","value":"new","filter_expression":"env.version|versionCompare('2') >= 0","priority":1},
            {"id":"x","key":"only","value":1,"filter_expression":"env.locale == 'de'"},
            {"id":"y","key":"off","value":1},
            {"id":"z","key":"off","in_app_default":true,"filter_expression":"env.locale == 'de'"}
            """#)
        #expect(value(records, "k") == #""all""#)
        #expect(value(records, "k", .app(locale: "de")) == #""de""#)
        #expect(value(records, "k", .app(version: "2.1")) == #""new""#)
        #expect(value(records, "k", .app(version: "2.1", locale: "de")) == #""de""#)
        #expect(value(records, "only") == nil)
        #expect(value(records, "only", .app(locale: "de")) == "1")
        #expect(value(records, "off") == "1")
        #expect(value(records, "off", .app(locale: "de")) == nil)
        #expect(value(records, "missing") == nil)
    }

    @Test func explains() throws {
        let records = try set(
            #"""
            {"id":"a","key":"k","value":1},
            {"id":"b","key":"k","value":2,"filter_expression":"env.locale == 'de'","priority":3},
            {"id":"c","key":"k","value":3,"filter_expression":"true"},
            {"id":"d","key":"k","value":4,"filter_expression":"1 +"}
            """#)
        var filter = RecordFilter(context: .empty)
        let explanation = records.explanation(of: "k", &filter)
        #expect(explanation.winner?.id == "c")
        #expect(
            explanation.candidates.map(\.description) == [
                "b (priority 3): excluded: the filter is false", "c (priority 0): wins: its filter is true",
                "d (priority 0): excluded: at byte 3 of the filter expression: expected an operand, found the end",
                "a (default): outranked by c",
            ])
        #expect(records.explanation(of: "none", &filter).candidates.isEmpty)
        var german = RecordFilter(context: .app(locale: "de"))
        for key in ["k", "none"] {
            #expect(records.explanation(of: key, &german).winner?.id == records.winner(for: key, &german)?.id)
        }
    }

    /// In what order the records come does not matter.
    @Test func unsortedRecords() throws {
        let texts = #"{"id":"a","key":"k","value":1},{"id":"b","key":"k","value":2},{"id":"c","key":"l","value":3}"#
        let records = Array(try table(texts))
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let set = try ParameterSet(order.map { records[$0] })
            #expect(value(set, "k") == "1")
            #expect(set.records.map(\.id) == ["a", "b", "c"])
        }
    }

    /// A simulation of 100,000 devices: shares within a tenth of a point, the same device always in the same bucket,
    /// the first ten percent kept when a rollout grows to twenty, and rollouts of two names independent of each other.
    @Test func percentages() async throws {
        func records(_ name: String, _ count: Int) throws -> ParameterSet {
            try set(
                #"""
                {"id":"a","key":"k","value":0},
                {"id":"b","key":"k","value":1,"filter_expression":"[env.id, '\#(name)']|bucketSample(0, \#(count), 100)"}
                """#)
        }
        let sets = [try records("banner", 10), try records("banner", 20), try records("other", 50)]
        let devices = 100_000
        func simulate(_ range: Range<Int>) -> [Bool] {
            range.flatMap { device in
                // As an installation's id is made: 32 hexadecimal digits.
                var state = UInt64(device) &* 0x9E37_79B9_7F4A_7C15
                let id = (0..<2).map { _ in
                    state = (state ^ (state >> 31)) &* 0xBF58_476D_1CE4_E5B9 &+ 1
                    return String(state, radix: 16)
                }.joined()
                let context = FilterContext.app(custom: ["id": .string(id)])
                return sets.map { value($0, "k", context) == "1" }
            }
        }
        let half = devices / 2
        async let first = Task.detached { simulate(0..<half) }.value
        async let second = Task.detached { simulate(half..<devices) }.value
        let all = await first + second
        var counts = (ten: 0, twenty: 0, other: 0, both: 0)
        for device in 0..<devices {
            let isIn = all[device * 3..<device * 3 + 3]
            let (ten, twenty, other) = (isIn[device * 3], isIn[device * 3 + 1], isIn[device * 3 + 2])
            if ten, !twenty { Issue.record("\(device) was in, and is not any more") }
            counts.ten += ten ? 1 : 0
            counts.twenty += twenty ? 1 : 0
            counts.other += other ? 1 : 0
            counts.both += ten && other ? 1 : 0
        }
        // By chance alone, 20 % of 100,000 devices are off by 0.13 points (one standard deviation): the sample is
        // fixed.
        func share(_ count: Int) -> Double { Double(count) * 100 / Double(devices) }
        #expect(abs(share(counts.ten) - 10) <= 0.1, "\(counts)")
        #expect(abs(share(counts.twenty) - 20) <= 0.1, "\(counts)")
        #expect(abs(share(counts.other) - 50) <= 0.3, "\(counts)")
        #expect(abs(share(counts.both) - 5) <= 0.25, "\(counts)")
        #expect(simulate(0..<500) == Array(all.prefix(1500)), "a device stays in its bucket")
    }
}
