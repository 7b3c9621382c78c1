import Foundation
import RemoteSettingsModel
@testable import TargetFilter
import Testing

/// Compares with PyPI's `pyjexl` 0.3.0, an independent implementation of the language, where the semantics agree.
///
/// The generator and the context grid avoid the cases where the semantics differ:
/// - property access on an undefined value (`env.appinfo.OS` without `appinfo`): pyjexl raises an error; here, as in
///   Gecko, the result is `undefined`;
/// - ordering values of different types, or an undefined value: pyjexl raises an error; here the comparison is false;
/// - comparing a boolean with a number: in Python `true == 1`;
/// - empty arrays and objects as conditions: false in Python, true in JavaScript;
/// - `%` with negative numbers (Python rounds down, JavaScript towards zero), division by 0 (an error in Python),
///   negative indexes (Python counts from the end);
/// - names as arguments of a transform: pyjexl evaluates arguments in an empty context;
/// - property access on an array: an error in pyjexl; here, as in Gecko, it applies to the first element;
/// - syntax that pyjexl does not support: `null`, `.5`, quoted keys, trailing commas, `t()`, `a ?: b`, `intersect`,
///   comments, `in` with an object, identifiers that begin with `true` or `false`; pyjexl also reads Python escapes in
///   strings.
///
/// `scripts/test external` compares generated expressions and the real ones in the collections of Debian's firefox-esr.
/// `Tests/Vectors` contains the results of Firefox itself.
struct DifferentialTests {
    private static func cases(_ arguments: String...) throws -> [JSONValue] {
        try output(of: ".cache/venv/bin/python", ["Tests/Comparisons/filter_cases.py"] + arguments)
            .split(separator: 0x0A).map { try JSONValue(parsing: Bytes(Array($0))) }
    }

    @Test(.external) func realExpressionsMatchPyjexl() throws {
        let lines = try Self.cases("real", ".cache/real-collections")
        let contexts = try #require(lines.first?.array).map { context -> FilterContext in
            guard case .object(let root) = FilterValue(context) else { return .empty }
            return FilterContext(root: root)
        }
        try #require(contexts.count == 504)
        #expect(lines.count - 1 >= 326)
        var included = 0
        var excluded = 0
        for line in lines.dropFirst() {
            let text = try #require(line["expression"]?.string)
            let expected = Array(try #require(line["results"]?.string).utf8)
            try #require(expected.count == contexts.count)
            let expression = try FilterExpression(parsing: text)
            for (context, letter) in zip(contexts, expected) {
                let outcome = expression.outcome(in: context)
                let isIncluded = letter == UInt8(ascii: "T")
                if isIncluded { included += 1 } else { excluded += 1 }
                // pyjexl raises an error for a missing version; here the comparison is false. Both exclude the record.
                if outcome.isIncluded != isIncluded || (letter == UInt8(ascii: "F") && outcome != .rejected) {
                    Issue.record("\(text) in \(FilterValue.object(context.root)): \(outcome), not \(letter)")
                }
            }
        }
        // The comparison is meaningful only if both outcomes occur.
        #expect(included > 10_000 && excluded > 10_000)
    }

    @Test(.external, arguments: 1...6) func generatedExpressionsMatchPyjexl(seed: Int) throws {
        let lines = try Self.cases("generated", "\(seed)", "1500")
        guard case .object(let root)? = lines.first?["context"].map(FilterValue.init) else {
            Issue.record("the output contains no context")
            return
        }
        try #require(lines.count == 1501)
        var kinds: Set<String> = []
        for line in lines.dropFirst() {
            let text = try #require(line["expression"]?.string)
            let expected = FilterValue(try #require(line["value"]))
            let found = try FilterExpression(parsing: text).evaluate(in: FilterContext(root: root))
            if !Self.agree(found, expected) { Issue.record("\(text) gave \(found), not \(expected)") }
            kinds.insert(String(expected.description.prefix(1)))
        }
        #expect(kinds.count > 8)
    }

    /// Python has no `undefined`, and its exact integer arithmetic can differ from floating point in the last digits.
    private static func agree(_ found: FilterValue, _ expected: FilterValue) -> Bool {
        switch (found, expected) {
        case (.undefined, .null): true
        case (.number(let a), .number(let b)): a == b || abs(a - b) <= abs(b) * 1e-12
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy(agree)
        case (.object(let a), .object(let b)):
            a.count == b.count && a.members.allSatisfy { b.contains($0.key) && agree($0.value, b[$0.key]) }
        default: found == expected
        }
    }
}
