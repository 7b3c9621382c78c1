import RemoteSettingsModel
@testable import TargetFilter
import Testing

/// What came out of running the same forty expressions in Mozilla's mobile client (jexl-rs 0.4 with its
/// `versionCompare`): where the two differ, with this package's side. The article's table has the most important rows.
struct ClientDifferencesTests {
    private static let context = FilterContext(root: ["list": [3, 1, 2], "env": [:]] as FilterObject)

    private func check(_ text: String, _ expected: FilterValue) throws {
        let found = try FilterExpression(parsing: text).evaluate(in: Self.context)
        #expect(found == expected, "\(text) gave \(found), not \(expected)")
    }

    /// Mobile takes numbers for equal that differ by less than 0.000001.
    @Test(
        arguments: [
            ("1 == 1.0000001", false), ("1 != 1.0000001", true), ("0.1 + 0.2 == 0.3", false), ("1e-9 == 0", .undefined),
            ("0.000000001 == 0", false), ("9007199254740993 == 9007199254740992", true), ("1.0 == 1", true),
            ("[1.0000001] == [1]", false), ("1 in [1.0000001]", false),
        ] as [(String, FilterValue)])
    func `Numbers are equal where their doubles are`(_ text: String, _ expected: FilterValue) throws {
        guard expected != .undefined else {
            // No client's grammar has exponents.
            #expect(throws: Failure.self) { try FilterExpression(parsing: text) }
            return
        }
        try check(text, expected)
    }

    /// Mobile rounds an index down.
    @Test(
        arguments: [
            ("list[0.5]", .undefined), ("list[0.9999999]", .undefined), ("list[-1]", .undefined),
            ("list[-0.5]", .undefined), ("list[1.0]", 1), ("list[2]", 2), ("list[3]", .undefined),
            ("list[4294967296]", .undefined), ("list[99999999999999999999]", .undefined), ("list[0/0]", .undefined),
            ("{'0.5': 7}[0.5]", 7),
        ] as [(String, FilterValue)])
    func `An index is a whole number from 0 on`(_ text: String, _ expected: FilterValue) throws {
        try check(text, expected)
    }

    /// An error on mobile.
    @Test(
        arguments: [
            ("{a: 1, a: 2}.a", 2), ("{a: 1, 'a': 2}|keys|length", 1), ("{a: 1, b: 2, a: 3} == {a: 3, b: 2}", true),
        ] as [(String, FilterValue)])
    func `Of an object's keys the last one counts`(_ text: String, _ expected: FilterValue) throws {
        try check(text, expected)
    }

    /// Mobile includes a record whose filter is no text. It cannot say for whom the record is.
    @Test(arguments: [
        ("5", "a number", false), ("0", "a number", false), ("true", "a boolean", false), ("false", "a boolean", false),
        ("{}", "an object", false), (#"["true"]"#, "an array", false), ("null", "", true), (#""""#, "", true),
        (#"" ""#, "", true), (#""true""#, "", true),
    ])
    func `A filter that is no text excludes`(_ json: String, _ found: String, _ isIncluded: Bool) throws {
        let body =
            #"{"metadata":{"id":"c","bucket":"main"},"timestamp":1,"changes":[{"id":"a","filter_expression":\#(json)}]}"#
        let changeset = try Changeset(parsing: Bytes(utf8: body))
        let record = try #require(changeset.records.first)
        var filter = RecordFilter(context: Self.context)
        #expect(filter.outcome(of: record) == (isIncluded ? .passed : .failed(.notAString(found: found))))
        #expect(filter.includes(record) == isIncluded)
    }

    /// An error on mobile; Gecko's comparison and this one count such a number as the largest one.
    @Test(
        arguments: [
            ("'99999999999.0'|versionCompare('1')", 1), ("'1'|versionCompare('99999999999.0')", -1),
            ("'99999999999'|versionCompare('88888888888')", 0), ("'2147483647'|versionCompare('2147483648')", 0),
            ("'2147483646'|versionCompare('2147483648')", -1), ("'1.99999999999a1'|versionCompare('1.2')", 1),
            ("'1.-99999999999'|versionCompare('1.0')", -1), ("'99999999999'|versionCompare('*')", 0),
        ] as [(String, FilterValue)])
    func `Version numbers beyond 32 bits count as the largest`(_ text: String, _ expected: FilterValue) throws {
        try check(text, expected)
    }

    /// An error on mobile, which excludes the record whatever is made of the value.
    @Test(
        arguments: [
            ("env.version|versionCompare('1')", .undefined), ("env.version|versionCompare('1') >= 0", false),
            ("env.version|versionCompare('1') < 0", false), ("!(env.version|versionCompare('1') >= 0)", true),
            ("env.version|versionCompare('1') == null", true), ("'1'|versionCompare(env.version)", .undefined),
            ("'1'|versionCompare()", .undefined), ("5|versionCompare('1')", .undefined),
            ("''|versionCompare('0')", 0),
        ] as [(String, FilterValue)])
    func `A missing version compares as undefined`(_ text: String, _ expected: FilterValue) throws {
        try check(text, expected)
    }
}
