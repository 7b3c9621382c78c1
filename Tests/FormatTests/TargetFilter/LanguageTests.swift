import RemoteSettingsModel
import TargetFilter
import Testing

/// The filter language. Comments note where Gecko (mozjexl 1.1.6) and the mobile client (jexl-rs 0.4 with its own
/// `versionCompare`) differ; the mobile client evaluated the same expressions. ``VectorTests`` covers the results of a
/// real Firefox.
struct LanguageTests {
    private static let context = FilterContext(
        root: [
            "n": 7, "s": "text", "yes": true, "no": false, "nothing": .null, "list": [3, 1, 2], "env": [:],
            "o": ["a": 1, "in": 2, "b": ["c": "deep"]],
            "rows": [["x": 1, "tags": ["p", "q"]], ["x": 5, "tags": ["q"]], ["x": -3, "tags": []]],
        ] as FilterObject)

    private func value(_ text: String) throws -> FilterValue {
        try FilterExpression(parsing: text).evaluate(in: Self.context)
    }

    private func check(_ text: String, _ expected: FilterValue) throws {
        let found = try value(text)
        #expect(found == expected, "\(text) gave \(found), not \(expected)")
    }

    private static let operatorRows: [(String, FilterValue)] = [
        // Both clients use the same precedence.
        ("2*3^2", 18), ("100 / 10 / 5", 2), ("-7 // 2", -4), ("7 % 4 ^ 2", 9), ("2 * 7 % 4", 6), ("1 + 2 == 3 && 4", 4),
        ("5.5 % 2", 1.5), ("-7 % 3", -1), ("7/0 == 8/0 ? 1 : 2", 1),
        // `&&` and `||` have the same precedence: `a || b && c` is `(a || b) && c`, unlike in JavaScript.
        ("1 || 0", 1), ("0 || ''", ""), ("null || undefined", .undefined),
        // Gecko evaluates both sides, so an error on the right excludes the record; mobile does not, nor do we.
        ("true || 1|nonsense", true), ("false && (s - 1)", false), ("n || [] < {}", 7),
        // Only Gecko has `!`.
        ("!!n", true), ("!no == true", true), ("!n == 7", false), ("!list|length", false), ("! ( no )", true),
        ("!'' && !0 && !null && !undefined", true), ("![]", false), ("!{}", false),
        // Only Gecko has negative numbers. A sign may precede only a number, never a name.
        ("-5", -5), ("3 -5", -2), ("3-5", -2), ("2^-1", 0.5), ("-2^2", 4), ("- 4 + 1", -3), ("-.5", -0.5),
        ("[-1, -2][-0]", -1),
        // In Gecko the ternary has the lowest precedence and a short form; on mobile it has the highest precedence.
        ("no || yes ? 1 : 2", 1), ("no ? 1 : yes ? 2 : 3", 2), ("1 + 1 == 2 ? 'a' + 'b' : 'c'", "ab"), ("n ?: 3", 7),
        ("0 ?: 3 + 1", 4), ("(no ? 1 : 2) + 1", 3), ("no ? 1 : 2 + 1", 3), ("yes ? 1 : 1|nonsense", 1),
        ("list|length ? 1 : 2", 1),
        // Adding a string to any value gives a string.
        ("'a' + 1", "a1"), ("1.50 + 'a' + true", "1.5atrue"), ("'' + 2^80", "1.2089258196146292e+24"),
    ]

    @Test(arguments: operatorRows)
    func operators(_ text: String, _ expected: FilterValue) throws { try check(text, expected) }

    private static let literalRows: [(String, FilterValue)] = [
        // Only mobile supports `.5`, `null`, quoted keys and trailing commas.
        (".5", 0.5), ("1.25", 1.25), ("'it\\'s'", "it's"), (#"'\d\\n'"#, #"\d\n"#), ("null", .null),
        ("{a: 1, 'b c': [2], \"d\": {in: 3},}", ["a": 1, "b c": [2], "d": ["in": 3]]), ("'wörld 😀'", "wörld 😀"),
        ("trueish", .undefined), ("$x_1", .undefined),
        // The last of several equal keys wins; an error on mobile.
        ("{a: 1, a: 2}.a", 2), ("{a: 1, 'a': 2}|keys|length", 1), ("{a: 1, b: 2, a: 3} == {a: 3, b: 2}", true),
        ("1+1", 2), (" \t\r\n1\u{a0}+\u{2003}1\u{feff} ", 2), ("1 # one\n + 1", 2), ("# first\n1+1 # last", 2),
        ("1+1#", 2),
    ]

    @Test(arguments: literalRows)
    func literalsAndComments(_ text: String, _ expected: FilterValue) throws { try check(text, expected) }

    private static let accessRows: [(String, FilterValue)] = [
        // Gecko allows these only after identifiers and transforms, mobile after any operand.
        ("o.a", 1), ("o['b'].c", "deep"), ("o.in", 2), ("[1,2,3][1]", 2), ("{a: {b: 4}}.a.b", 4), ("(list)[0]", 3),
        ("[1,2,1].length", .undefined), ("[].x", .undefined), ("s.length", .undefined), ("s[0]", .undefined),
        ("rows[1].tags[0]", "q"), ("list[true]", [3, 1, 2]), ("list[n == 8]", .undefined),
        // Mobile rounds an index down.
        ("list[0.5]", .undefined), ("list[0.9999999]", .undefined), ("list[-1]", .undefined),
        ("list[-0.5]", .undefined),
        ("list[1.0]", 1), ("list[3]", .undefined), ("list[4294967296]", .undefined), ("list[0/0]", .undefined),
        ("list[99999999999999999999]", .undefined), ("{'1': 2}[1]", 2), ("{'0.5': 7}[0.5]", 7),
        // In a filter in brackets, Gecko allows any expression, mobile only a single comparison.
        ("rows[(.x + 1) == 6]|mapToProperty('x')", [5]), ("rows['q' in .tags]|length", 2),
        ("rows[.tags|length == 0][0].x", -3), ("rows[.x == n - 2][0].x", 5), ("rows[!.missing]|length", 3),
        ("rows[.tags[.x]]|length", 3), ("[][.x]", []), ("undefined[.x]", .undefined), ("o[.a == 1][0].b.c", "deep"),
        ("rows[.x > 9]", []), ("list[.x]", []), (".n", 7), (".o.a", 1),
        ("rows[.x > 0][.x > 1]|mapToProperty('x')", [5]), ("rows[rows[.x > 1][0].x == .x]|length", 1),
        // In Gecko, a missing member and any access to it are undefined; on mobile they are null.
        ("o.missing", .undefined), ("missing['x'][0].y", .undefined), ("nothing.x", .undefined), ("n.x.y", .undefined),
        ("missing[.x]", .undefined),
        // A transform applies to the last operand. Gecko rejects `t()`; mobile and this package allow it.
        ("1 + list|length", 4), ("(s + s)|length", .undefined), ("o|keys|length", 3), ("o|keys[0]", "a"),
        ("o|keys()[2]", "b"), ("rows|mapToProperty('x')[1]", 5), ("o.b|keys == ['c']", true), ("o|values[2].c", "deep"),
        ("s | length", .undefined), ("list|length|length", .undefined), ("'1.0'|versionCompare('1.1',)", -1),
    ]

    @Test(arguments: accessRows)
    func access(_ text: String, _ expected: FilterValue) throws { try check(text, expected) }

    private static let comparisonRows: [(String, FilterValue)] = [
        // Only mobile supports `in` for the keys of an object. `in` is false for a value that cannot contain others; an
        // error on mobile.
        ("'ex' in s", true), ("'xe' in s", false), ("'' in ''", true), ("'3' in list", false), ("'z' in o", false),
        ("{x: 5} in [{x: 5}]", true), ("1 in 5", false), ("'a' in missing", false), ("7 in '7'", false),
        ("'aab' in 'aaab'", true), ("'abab' in 'abacabab'", true), ("'é' in 'é'", true),
        // Gecko compares with JavaScript's `==`, mobile strictly by type. Here comparison is strict, but `undefined`
        // equals `null`: mobile has one value for both, and JavaScript treats them as equal.
        ("1 == true", false), ("0 == ''", false), ("null == undefined", true), ("null == 0", false),
        ("nothing == missing", true), ("missing == false", false), ("'a' != 'b'", true), ("[1,[2]] == [1,[2]]", true),
        ("{a:1,b:2} == {b:2,a:1}", true), ("[1] == [1,2]", false), ("'e\u{301}' == '\u{e9}'", false),
        // On mobile, numbers that differ by less than 0.000001 are equal.
        ("1 == 1.0000001", false), ("1 != 1.0000001", true), ("0.1 + 0.2 == 0.3", false), ("0.000000001 == 0", false),
        ("9007199254740993 == 9007199254740992", true), ("[1.0000001] == [1]", false), ("1 in [1.0000001]", false),
        // Ordering a missing value is always false, as in Gecko; an error on mobile.
        ("'' < 'a'", true), ("'b' >= 'a'", true), ("missing >= 0", false), ("null > -1", false), ("0/0 >= 0", false),
        // Version numbers beyond 32 bits are clamped to the largest, as in Gecko; an error on mobile.
        ("'99999999999.0'|versionCompare('1')", 1), ("'1'|versionCompare('99999999999.0')", -1),
        ("'99999999999'|versionCompare('88888888888')", 0), ("'2147483647'|versionCompare('2147483648')", 0),
        ("'2147483646'|versionCompare('2147483648')", -1), ("'1.99999999999a1'|versionCompare('1.2')", 1),
        ("'1.-99999999999'|versionCompare('1.0')", -1), ("'99999999999'|versionCompare('*')", 0),
        // An error on mobile, which excludes the record however the result is used.
        ("env.version|versionCompare('1')", .undefined), ("env.version|versionCompare('1') < 0", false),
        ("!(env.version|versionCompare('1') >= 0)", true), ("env.version|versionCompare('1') == null", true),
        ("'1'|versionCompare(env.version)", .undefined), ("'1'|versionCompare()", .undefined),
    ]

    @Test(arguments: comparisonRows)
    func comparisons(_ text: String, _ expected: FilterValue) throws { try check(text, expected) }

    /// Only `true` includes a record; Gecko accepts every truthy value.
    @Test func onlyTruePasses() throws {
        #expect(try FilterExpression(parsing: "n == 7").outcome(in: Self.context) == .passed)
        #expect(try FilterExpression(parsing: "n == 8").outcome(in: Self.context) == .rejected)
        #expect(try FilterExpression(parsing: "n").outcome(in: Self.context) == .notBoolean(7))
        #expect(try FilterExpression(parsing: "'true'").matches(Self.context) == false)
        #expect(try FilterExpression(parsing: "missing").outcome(in: Self.context) == .notBoolean(.undefined))
        let error = Failure.wrongType(operator: "-", expected: "two numbers", found: "a string and a number", offset: 2)
        #expect(try FilterExpression(parsing: "s - 1").outcome(in: Self.context) == .failed(error))
    }

    @Test(arguments: [
        ("", 0, "an operand", "the end"), ("1 +", 3, "an operand", "the end"),
        ("1 2", 2, "an operator or the end", "the number 2"), ("(1", 2, "an operator or ')'", "the end"),
        ("[1 2]", 3, "an operator, ',' or ']'", "the number 2"), ("a.", 2, "a name after '.'", "the end"),
        ("a.5", 2, "a name after '.'", "the number 5"), ("'abc", 0, "a closing '", "the end"),
        ("a ? 1", 5, "an operator or ':'", "the end"), ("{a 1}", 3, "':'", "the number 1"),
        ("{,}", 1, "a key or '}'", "','"), ("[,]", 1, "an operand", "','"),
        ("a|", 2, "the name of a transform", "the end"), ("-a", 1, "a number after '-'", "'a'"),
        ("1 = 1", 2, "an operand or an operator", "'='"), ("a & b", 2, "an operand or an operator", "'&'"),
        ("in", 0, "an operand", "'in'"), ("1e5", 1, "the end of the number 1", "'e'"),
        ("é", 0, "an operand or an operator", "'\\u{00E9}'"), ("a)", 1, "an operator or the end", "')'"),
        ("--1", 1, "a number after '-'", "'-'"), ("a[]", 2, "an operand", "']'"),
        ("1.", 2, "a name after '.'", "the end"),
    ])
    func syntaxErrorIsLocated(_ text: String, _ offset: Int, _ expected: String, _ found: String) throws {
        let error = #expect(throws: Failure.self) { try FilterExpression(parsing: text) }
        #expect(error == .syntax(offset: offset, expected: expected, found: found))
    }

    @Test(arguments: [
        "1 - 'a'", "null + 1", "[1] * 2", "yes + no", "[1] < [2]", "1 < '2'", "true > false", "1|nonsense", "o + 'a'",
        // `intersect` binds tighter than `+`, so this adds an array and a number.
        "[1] intersect [] + 1",
    ])
    func evaluationErrorExcludes(_ text: String) throws {
        #expect(throws: Failure.self) { try value(text) }
        #expect(try FilterExpression(parsing: text).matches(Self.context) == false)
    }
}
