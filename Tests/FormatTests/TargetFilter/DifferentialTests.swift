import Foundation
import RemoteSettingsModel
@testable import TargetFilter
import Testing

/// Compares with PyPI's `pyjexl` 0.3.0, another implementation of the language, where the semantics agree.
///
/// They do not agree, and the generator and the grid keep clear of it, where
/// - a name is looked up in something that is not there (`env.appinfo.OS` without `appinfo`): pyjexl raises an error,
///   here as in Gecko the value is `undefined`;
/// - values of different types are ordered, or a value that is not there: pyjexl raises an error, here nothing is
///   smaller or larger than what is not there;
/// - a boolean is compared with a number: in Python `true == 1`;
/// - empty arrays and objects are tested: Python's are false, JavaScript's are true;
/// - `%` is given negative numbers (Python rounds down, JavaScript towards zero), a divisor is 0 (an error in Python),
///   an index is negative (Python counts from the end);
/// - an argument of a transform is a name: pyjexl evaluates arguments against an empty context;
/// - a name is looked up in an array: an error in pyjexl, here as in Gecko it looks into the first element;
/// - what pyjexl's grammar has not: `null`, `.5`, quoted keys, trailing commas, `t()`, `a ?: b`, `intersect`, comments,
///   `in` an object, identifiers that begin with `true` or `false`; in strings it reads Python's escapes.
///
/// `scripts/test external` compares generated expressions, and the real ones of the collections of Debian's
/// firefox-esr.
/// What Firefox itself makes of an expression is in `Tests/Vectors`.
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
                // pyjexl's error on a version that is not there is a false comparison here; both exclude.
                if outcome.isIncluded != isIncluded || (letter == UInt8(ascii: "F") && outcome != .rejected) {
                    Issue.record("\(text) in \(FilterValue.object(context.root)): \(outcome), not \(letter)")
                }
            }
        }
        // Both outcomes must occur, or the comparison says nothing.
        #expect(included > 10_000 && excluded > 10_000)
    }

    @Test(.external, arguments: 1...6) func generatedExpressionsMatchPyjexl(seed: Int) throws {
        let lines = try Self.cases("generated", "\(seed)", "1500")
        guard case .object(let root)? = lines.first?["context"].map(FilterValue.init) else {
            Issue.record("there is no context")
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

    /// Python has no `undefined`, and rounds when it computes with integers until the end.
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
