import RemoteSettingsModel
import TargetFilter
import Testing

private func canPass(_ filter: String, withoutAnyOf others: [String] = [], now: UInt64? = nil) throws -> Bool {
    let filters = try ([filter] + others).map { try FilterExpression(parsing: $0) }
    var analysis = FilterAnalysis(filters, now: now.map { Timestamp(milliseconds: $0) })
    return analysis.canPass(0, withoutAnyOf: Array(1..<filters.count))
}

struct FilterAnalysisTests {
    @Test(arguments: [
        "false", "!true", "1", "'text'", "env.a == 'x' && env.a == 'y'", "env.a == 'x' && env.a != 'x'",
        "env.a in ['x', 'y'] && env.a == 'z'", "env.a in []", "env.n > 5 && env.n < 5", "env.n >= 5 && env.n < 5",
        "env.n > 5 && env.n == 4", "5 < env.n && env.n <= 5", "env['a'] == 'x' && env.a == 'y'",
        "env.v|versionCompare('2.0') < 0 && env.v|versionCompare('3.0') >= 0",
        "env.v|versionCompare('2.0') == 0 && env.v|versionCompare('2') != 0",
        "env.now < ('2026-01-01'|date) && env.now > ('2026-01-02T00:00:00Z'|date)",
        "[env.id, 's']|bucketSample(0, 0, 100)", "env.id|stableSample(0)",
        "([env.id, 's']|bucketSample(0, 10, 100)) && ([env.id, 's']|bucketSample(10, 10, 100))",
        "env.a && !env.a", "(env.a == 'x' || env.a == 'y') && !(env.a in ['y', 'x'])", "env.a == null && env.a == 'x'",
        "env.list|length > 2 && !(env.list|length > 2)",
    ])
    func neverTrue(_ filter: String) throws {
        #expect(try !canPass(filter))
    }

    @Test(arguments: [
        "true", "env.a == 'x'", "env.a", "!env.a", "env.a == 'x' || env.a == 'y'", "env.a != 'x' && env.a != 'y'",
        "env.a == 'x' && env.b == 'y'", "env.a in ['x', 'y'] && env.a != 'x'", "env.n > 4 && env.n < 5",
        "env.v|versionCompare('2.0') >= 0 && env.v|versionCompare('3.0') < 0",
        "env.v|versionCompare('2.0') == 0 && env.v|versionCompare('2.0.0') == 0",
        "([env.id, 's']|bucketSample(0, 11, 100)) && ([env.id, 's']|bucketSample(10, 10, 100))",
        "([env.id, 's']|bucketSample(0, 10, 100)) && ([env.id, 't']|bucketSample(10, 10, 100))",
        "([env.id, 's']|bucketSample(95, 10, 100)) && ([env.id, 's']|bucketSample(0, 5, 100))",
        "env.a == 'x' ? env.b == 'y' : false", "env.list[.x > 1]|length > 0", "'beta' in env.a && env.a == 'release'",
    ])
    func perhapsTrue(_ filter: String) throws {
        #expect(try canPass(filter))
    }

    @Test(arguments: [
        ("env.a == 'x'", ["env.a in ['x', 'y']"]), ("env.a == 'x' && env.b == 'y'", ["env.a == 'x'"]),
        ("env.c == 'z'", ["true"]), ("env.v|versionCompare('3') >= 0", ["env.v|versionCompare('2') >= 0"]),
        ("env.b", ["[env.id, 's']|bucketSample(0, 50, 100)", "[env.id, 's']|bucketSample(50, 50, 100)"]),
        ("env.a == 'x'", ["env.a == 'x' || env.n > 5"]),
    ])
    func shadowed(_ filter: String, _ others: [String]) throws {
        #expect(try !canPass(filter, withoutAnyOf: others))
    }

    @Test(arguments: [
        ("env.a in ['x', 'y']", ["env.a == 'x'"]), ("env.a == 'x'", ["env.a == 'x' && env.b == 'y'"]),
        // If env.n is a text, the other filter ends with an error.
        ("env.a == 'x'", ["env.n > 5 || env.a == 'x'"]),
        // A value that is no boolean includes nobody.
        ("env.a == 'x'", ["env.flag || env.a == 'x'"]),
        ("env.b", ["[env.id, 's']|bucketSample(0, 50, 100)", "[env.id, 's']|bucketSample(50, 49, 100)"]),
    ])
    func notShadowed(_ filter: String, _ others: [String]) throws {
        #expect(try canPass(filter, withoutAnyOf: others))
    }

    @Test func thePastDoesNotComeBack() throws {
        let day: UInt64 = 86_400_000
        #expect(try !canPass("env.now < \(day)", now: 2 * day))
        #expect(try !canPass("env.now <= \(day) && env.a", now: 2 * day))
        #expect(try canPass("env.now < \(3 * day)", now: 2 * day))
        #expect(try canPass("env.now >= \(day)", now: 2 * day))
        #expect(try canPass("env.now < \(day)"))
        #expect(try !canPass("env.a == 'x'", withoutAnyOf: ["env.a == 'x' && env.a in ['x']"], now: day))
    }

    /// What really passes is never called impossible.
    @Test func agreesWithEvaluation() throws {
        var random = SystemRandomNumberGenerator()
        let terms = [
            "env.a == 'x'", "env.a != 'y'", "env.a in ['x', 'z']", "env.n > 1", "env.n <= 2", "env.n == 2", "!env.flag",
            "env.flag",
            "env.v|versionCompare('2.0') >= 0", "env.v|versionCompare('3.0b1') < 0", "env.v|versionCompare('2.0') != 0",
            "[env.id, 's']|bucketSample(0, 30, 100)", "[env.id, 's']|bucketSample(20, 90, 100)",
            "env.id|stableSample(0.4)", "env.now >= ('2026-11-01'|date)", "env.missing == null", "true", "false",
            "'x' in env.a", "env.a|length > 1",
        ]
        let values: [String: [FilterValue]] = [
            "a": ["x", "y", "z", "", .undefined, 5, true], "n": [0, 1, 1.5, 2, 3, "2", .null, .undefined],
            "flag": [true, false, 1, 0, "t", .undefined],
            "v": ["1.9", "2.0", "2.0.0", "2.5", "3.0b1", "3.0", "4", .undefined, 2],
            "now": [1_700_000_000_000, 1_900_000_000_000, .undefined],
        ]
        func expression(_ depth: Int) -> String {
            let term = terms.randomElement(using: &random) ?? "true"
            switch depth > 0 ? Int.random(in: 0..<5, using: &random) : 4 {
            case 0: return "(\(expression(depth - 1))) && (\(expression(depth - 1)))"
            case 1: return "(\(expression(depth - 1))) || (\(expression(depth - 1)))"
            case 2: return "!(\(expression(depth - 1)))"
            case 3: return "(\(expression(depth - 1))) ? (\(expression(depth - 1))) : (\(term))"
            default: return term
            }
        }
        var impossible = 0
        for _ in 0..<400 {
            let filters = try (0..<3).map { _ in try FilterExpression(parsing: expression(3)) }
            var analysis = FilterAnalysis(filters)
            let never = !analysis.canPass(0, withoutAnyOf: [])
            let shadowed = !analysis.canPass(0, withoutAnyOf: [1, 2])
            impossible += shadowed ? 1 : 0
            for _ in 0..<40 {
                var env = FilterObject()
                for (key, options) in values { env[key] = options.randomElement(using: &random) ?? .undefined }
                env["id"] = .string("device-\(UInt32.random(in: 0...9999, using: &random))")
                let context = FilterContext(root: ["env": .object(env)])
                guard filters[0].matches(context) else { continue }
                #expect(!never, "\(filters[0].text)")
                if !filters[1].matches(context), !filters[2].matches(context) {
                    #expect(!shadowed, "\(filters[0].text) / \(filters[1].text) / \(filters[2].text)")
                }
            }
        }
        #expect(impossible > 20, "the test finds something")
    }

    @Test func aQuestionTooLargeIsNotAnswered() throws {
        let parts = (0..<40).map { "env.k\($0) in ['a', 'b', 'c']" }
        #expect(try canPass((parts + ["env.z == 'x' && env.z == 'y'"]).joined(separator: " && ")))
        let long = try FilterExpression(
            parsing: Array(repeating: "env.a=='x'", count: 1100).joined(separator: " && "))
        var analysis = FilterAnalysis([long])
        let isPossible = analysis.canPass(0, withoutAnyOf: [])
        #expect(isPossible)
    }
}
