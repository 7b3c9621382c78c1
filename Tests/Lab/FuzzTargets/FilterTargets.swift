import RemoteSettingsModel
import TargetFilter

private let filterWords = [
    "&&", "||", "==", "!=", "<=", ">=", "//", "^", "%", "!", "-", "?", ":", "?:", ".", "[", "]", "(", ")", "{", "}",
    "|", ",", "'", "\"", "\\", "#", "\n", " in ", " intersect ", "null", "true", ".5", "1e9", "é", "😀", "\u{2028}",
    "|length", "|regExpMatch('(a*)*')", "|stableSample(.5)", "|bucketSample(0, 1, 2)", "|versionCompare('1.0')",
    "|date", "|keys", "|values", "|mapToProperty('x')", "|preferenceValue(3)", "|preferenceExists", "rows", "env.",
    ".x", "[.x > 0]", "{a: 1}", "[1,2]", "'2016-04-22T12:30:15Z'",
]

private let context = FilterContext.app(
    channel: "nightly", version: "137.0a1", locale: "de", os: "Linux",
    custom: ["rows": [["x": 1, "y": "a"], ["x": -1]], "big": 9_007_199_254_740_993, "text": "foo bar foo"],
    preferences: FilterPreferences(values: ["a": "b", "n": 1], userSet: ["a"]))

extension FuzzTarget {
    static let filter = FuzzTarget(
        "filter", "a filter expression; half of the inputs are texts, the others choose rules of its grammar",
        longest: 1024, words: filterWords,
        seeds: { source in
            let texts = [
                "env.channel == 'default' || env.channel == 'nightly'",
                "env.appinfo.OS != \"iOS\" && env.appinfo.OS != \"Android\"",
                "env.version|versionCompare(\"133.0a1\") >= 0 && env.version|versionCompare(\"138.0a1\") < 0",
                "env.rows[.x > 0 && .y in ['a', 'b']]|mapToProperty('x')[0] ?: {a: [1, -2.5,], 'b': null}",
                "2^3^2 % 7 // 2 * (1 - .5)", "'foobar'|regExpMatch('^foo(.+?)$', 'gi')[1] == 'bar' # why",
                "['id']|bucketSample(0, 5, 10) ? !true : 'x'|preferenceValue(3)",
                "'2016-04-22T12:30:15Z'|date < 5 intersect env|keys",
            ]
            return texts.map { [UInt8(ascii: " ")] + Array($0.utf8) }
                + (0..<8).map { seed in
                    var random = FuzzRandom(seed: UInt64(seed))
                    return [0xFF] + (0..<60).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                }
        }
    ) { input in
        guard let first = input.first else { return }
        let text: String
        if first < 0x80 {
            text = String(decoding: input, as: UTF8.self)
        } else {
            var grammar = FilterGrammar(choices: input[1...])
            text = grammar.expression(depth: 0)
        }
        guard let expression = try accepted(try FilterExpression(parsing: text)) else { return }
        let outcome = expression.outcome(in: context)
        try require(!outcome.description.isEmpty, "an outcome without a description")
        // Compares descriptions, because NaN does not equal itself.
        try require(
            expression.outcome(in: context).description == outcome.description,
            "the second outcome differs: \(text)")
        try require(expression.matches(context) == outcome.isIncluded, "the verdict differs from the outcome: \(text)")
        var filter = RecordFilter(context: context)
        for _ in 0..<2 {
            try require(
                filter.outcome(of: text).description == outcome.description,
                "the record filter's outcome differs: \(text)")
        }
    }

    static let pattern = FuzzTarget(
        "pattern", "a regular expression, flags and a text, apart by zero bytes; a match is a part of the text",
        longest: 512,
        words: [
            "(?:", "(?=", "(?!", "(?<n>", "\\k<n>", "[^", "\\d", "\\w", "\\b", "\\B", "\\u0041", "\\x41", "\\cA", "\\1",
            "{2,5}", "{0}", "{1000}", "{99999999999999999999}", "{2147483648}", "*?", "+?", "??", "|", "^", "$", ".",
            "(", ")", "[a-z]", "[\\d-x]", "[\\b]", "\\p{L}", "\\s", "😀", "é", "ß", "İ", "ſ", "K", "\\-",
        ],
        seeds: { _ in
            [
                ("^foo(.+?)$", "gi", "foobar"), ("(a*)*b", "", "aaaaaaaaaaaaaaaaac"),
                ("(?=a)[^b-d]{2,3}?|\\b(\\w+)\\1", "m", "xx ab"), ("[\\w.]+@[a-z]+", "g", "a.b@c d@e"),
                ("(?!x)(?:y|z){0,3}", "s", "yz\nzy"), ("\\u00e9|[é-ü]", "iu", "É"),
            ].map { Array($0.utf8) + [0] + Array($1.utf8) + [0] + Array($2.utf8) }
        }
    ) { input in
        let parts = input.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard parts.count == 3 else { return }
        let context = FilterContext(
            root: FilterObject([
                (key: "p", value: .string(parts[0])), (key: "f", value: .string(parts[1])),
                (key: "t", value: .string(parts[2])),
            ]))
        guard case .array(let matches)? = try accepted(try matchExpression.evaluate(in: context)) else { return }
        for case .string(let match) in matches {
            // Compares scalars, because a match may end within a Swift `Character`.
            let (text, part) = (Array(parts[2].unicodeScalars), Array(match.unicodeScalars))
            try require(
                part.count <= text.count
                    && (part.isEmpty || (0...text.count - part.count).contains { text[$0...].starts(with: part) }),
                "the match is not part of the text: \(match)")
        }
    }

    private static let matchExpression: FilterExpression = {
        guard let expression = try? FilterExpression(parsing: "t|regExpMatch(p, f)") else {
            preconditionFailure("the expression of the target is wrong")
        }
        return expression
    }()
}

/// Generates an expression from the language's grammar; each byte selects a rule.
private struct FilterGrammar {
    private var choices: ArraySlice<UInt8>

    init(choices: ArraySlice<UInt8>) { self.choices = choices }

    private mutating func choice(_ count: Int) -> Int { Int(choices.popFirst() ?? 0) % count }

    private mutating func pick(_ texts: [String]) -> String { texts[choice(texts.count)] }

    mutating func expression(depth: Int) -> String {
        guard depth < 24, !choices.isEmpty else { return operand() }
        switch choice(12) {
        case 0...3:
            let left = expression(depth: depth + 1)
            let operation = pick([
                "&&", "||", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "//", "%", "^", " in ", " intersect ",
            ])
            return "\(left) \(operation) \(expression(depth: depth + 1))"
        case 4: return "(\(expression(depth: depth + 1)))"
        case 5: return "!\(expression(depth: depth + 1))"
        case 6:
            let condition = expression(depth: depth + 1)
            return "\(condition) ? \(expression(depth: depth + 1)) : \(expression(depth: depth + 1))"
        case 7: return "\(expression(depth: depth + 1)) ?: \(expression(depth: depth + 1))"
        case 8: return "[\((0..<choice(4)).map { _ in expression(depth: depth + 1) }.joined(separator: ","))]"
        case 9:
            return
                "{\((0..<choice(4)).map { _ in member(depth: depth + 1) }.joined(separator: ", "))}"
        case 10: return "\(expression(depth: depth + 1))[\(pick(["", "."]))\(expression(depth: depth + 1))]"
        default:
            let name = pick([
                "date", "versionCompare", "length", "keys", "values", "mapToProperty", "regExpMatch", "stableSample",
                "bucketSample", "preferenceValue", "preferenceIsUserSet", "preferenceExists",
            ])
            let subject = expression(depth: depth + 1)
            let arguments = (0..<choice(4)).map { _ in expression(depth: depth + 1) }.joined(separator: ", ")
            return "(\(subject))|\(name)\(arguments.isEmpty ? "" : "(\(arguments))")"
        }
    }

    private mutating func member(depth: Int) -> String {
        "\(pick(["a", "'b c'", "é", "true"])): \(expression(depth: depth))"
    }

    private mutating func operand() -> String {
        switch choice(5) {
        case 0:
            return pick([
                "0", "1", "2", ".5", "0.1", "2147483648", "4294967295", "4294967296", "9007199254740993",
                "9223372036854775808",
                "18446744073709551616", String(repeating: "9", count: 320), "1000000", "-1", "-0",
            ])
        case 1:
            return pick([
                "'a'", "\"\"", "'foo bar'", "'1.0'", "'137.*'", "'2016-04-22'", "'é'", "'(a*)*b'", "'[a-z]+?'", "'g'",
                "'x'",
            ])
        case 2: return pick(["true", "false", "null", "undefined", "[]", "{}"])
        case 3:
            return pick([
                "env", "env.version", "env.rows", "env.text", "env.big", "env.appinfo.os.name", "none", "none.a.b",
            ])
        default: return pick([".x", ".y", "env.rows[.x == 1]", "env.rows[0]", "env['text']"])
        }
    }
}
