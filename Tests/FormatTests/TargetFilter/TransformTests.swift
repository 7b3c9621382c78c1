import RemoteSettingsModel
@testable import TargetFilter
import Testing

struct TransformTests {
    private static let context = FilterContext(
        root: ["list": [1, .undefined, ["a": 1]], "o": ["a": 1, "b": .undefined]],
        preferences: FilterPreferences(values: ["app.size": 3, "app.on": false], userSet: ["app.size"]))

    private func check(_ text: String, _ expected: FilterValue) throws {
        let found = try FilterExpression(parsing: text).evaluate(in: Self.context)
        #expect(found == expected, "\(text) gave \(found), not \(expected)")
    }

    @Test(arguments: [
        "5|length", "null|length", "5|keys", "null|keys", "5|mapToProperty('a')", "{a: 1}|mapToProperty('a')",
        "[1]|mapToProperty", "[1]|mapToProperty(0)", "1|versionCompare('1')", "'1'|versionCompare",
        "'1'|versionCompare(1)",
        "missing|versionCompare('1')", "null|date", "[]|date", "5|regExpMatch('5')", "'5'|regExpMatch",
        "'5'|regExpMatch(5)",
        "'5'|regExpMatch('5', 1)", "'a'|stableSample", "'a'|stableSample('1')", "'a'|bucketSample(0, 1)",
        "5|preferenceValue(1)", "5|preferenceExists", "null|preferenceIsUserSet", "'none'|preferenceValue",
        "5 intersect [5]", "null intersect null",
    ])
    func wrongTypeGivesUndefined(_ text: String) throws { try check(text, .undefined) }

    private static let rows: [(String, FilterValue)] = [
        ("list|length", 3), ("[]|length", 0), ("o|keys", ["a", "b"]), ("o|values", [1, .undefined]),
        ("[7,8]|keys", ["0", "1"]), ("[7,8]|values", [7, 8]), ("list|mapToProperty('a')", [.undefined, .undefined, 1]),
        ("[]|mapToProperty('a')", []), ("[{a: 1}, {b: 2}]|mapToProperty('a')", [1, .undefined]),
        ("[1,2,3] intersect [4,2,6,3]", [2, 3]), ("['s', 2] intersect [4, 's']", ["s"]),
        ("'app.size'|preferenceValue == 3", true), ("'app.size'|preferenceValue(5)", 3),
        ("'none'|preferenceValue(5)", 5), ("'app.size'|preferenceIsUserSet", true),
        ("'app.on'|preferenceIsUserSet", false), ("'app.on'|preferenceExists", true),
        ("'none'|preferenceExists", false), ("'app.on'|preferenceValue", false),
        ("'2015-01-01'|date < 1451606400000", true), ("1451606400000|date == '2016-01-01'|date", true),
        // Gecko's own samples (`test_FilterExpressions.js`, `test_Sampling.js`), and values computed with Python's
        // hashlib from the description of the algorithm.
        ("['test']|stableSample(1)", true), ("['test']|stableSample(0)", false), ("['test-1']|stableSample(0.5)", true),
        ("['test-4']|stableSample(0.5)", false), ("['test-1']|bucketSample(0, 5, 10)", true),
        ("['test-4']|bucketSample(0, 5, 10)", false), ("'test-0'|stableSample(0.5)", true),
        ("'test-1'|stableSample(0.5)", false), ("'test'|bucketSample(0, 10, 10)", true),
        ("'test'|bucketSample(0, 0, 10)", false), ("'test-0'|bucketSample(0, 5, 10)", true),
        ("'test-1'|bucketSample(0, 5, 10)", false), ("'test-1'|bucketSample(5, 5, 10)", true),
        ("'test-1'|bucketSample(105, 5, 10)", true), ("'test-0'|bucketSample(9, 6, 10)", true),
    ]

    @Test(arguments: rows)
    func transforms(_ text: String, _ expected: FilterValue) throws { try check(text, expected) }

    /// The expected values come from `Date.parse` in a JavaScript engine with the time zone UTC.
    @Test(arguments: [
        ("1970-01-01", 0), ("2016-04-22", 1_461_283_200_000), ("2016-04", 1_459_468_800_000),
        ("2016", 1_451_606_400_000), ("2016-04-22T12:30", 1_461_328_200_000),
        ("2016-04-22T12:30:15Z", 1_461_328_215_000), ("2016-04-22T12:30:15.250+02:00", 1_461_321_015_250),
        ("2016-04-22T12:30:15.5-00:30", 1_461_330_015_500), ("2016-02-29", 1_456_704_000_000),
        ("1969-12-31", -86_400_000), ("1900-03-01", -2_203_891_200_000), ("0000-01-01", -62_167_219_200_000),
        ("2016-04-22T24:00", 1_461_369_600_000), ("2016T06:00Z", 1_451_628_000_000),
    ])
    func dateIsParsed(_ text: String, _ milliseconds: Double) throws {
        try check("'\(text)'|date", .number(milliseconds))
    }

    @Test(arguments: [
        "", "x", "2016-13", "2017-02-29", "2016-4-2", "2016-04-22 12:30", "2016-04-22T25:00", "2016-04-22T12:60",
        "2016-04-22T24:01", "2016-04-22T12:30+2", "2016-04-22Zx", "16-04-22",
    ])
    func invalidDateIsNaN(_ text: String) throws {
        try check("'\(text)'|date < 0 || '\(text)'|date >= 0", false)
    }

    @Test(arguments: [
        "'a'|stableSample(1.5)", "'a'|stableSample(-0.1)", "'a'|stableSample(0/0)", "'a'|bucketSample(0, 1, 0)",
        "'a'|bucketSample(-1, 1, 10)", "'a'|bucketSample(0, 1/0, 10)",
    ])
    func sampleOutOfRangeIsRefused(_ text: String) throws {
        let error = #expect(throws: Failure.self) { try FilterExpression(parsing: text).evaluate(in: Self.context) }
        #expect(error?.code == .overLimit && error?.description.contains("Sample requires ") == true)
    }

    @Test func unknownTransformIsRefused() throws {
        #expect(throws: Failure.unknownTransform(name: "nonsense", offset: 3)) {
            try FilterExpression(parsing: " 1|nonsense(2)").evaluate(in: Self.context)
        }
    }

    /// Mozilla's example of version ordering: rows in ascending order; the versions in one row are equal.
    @Test func versionsAreOrderedAsByMozilla() throws {
        let rows = [
            ["a.b"], ["0.9"], ["1.-1"], ["1.0a"], ["1.0a1"], ["1.0b1pre"], ["1.0b1"], ["1.0pre1a"], ["1.0pre1"],
            ["1.0pre2"], ["1.0pre10"], ["1", "1.", "1.0", "1.0.", "1.0.0", "1.0.0.0", "01"], ["1.0.1a1"],
            ["1.1pre", "1.1pre0", "1.0+"], ["1.1pre1a"], ["1.1pre1"], ["1.1.0.-1"], ["1.1"], ["1.9"], ["1.10"], ["1.*"],
            ["1.*.1"], ["2pre"], ["2.0"], ["99.0"], ["110.0a1"], ["110.0"], ["128.5.0esr"], ["128.5.0"], ["*"], ["*.1"],
        ]
        for (index, row) in rows.enumerated() {
            for (other, otherRow) in rows.enumerated() {
                let expected: FilterValue = index < other ? -1 : index == other ? 0 : 1
                for left in row {
                    for right in otherRow {
                        try check("'\(left)'|versionCompare('\(right)')", expected)
                    }
                }
            }
        }
    }
}
