import Foundation
import RemoteSettingsModel
@testable import TargetFilter
import Testing

/// An expression from a hostile server excludes its record; it neither hangs nor crashes the process.
struct HostileExpressionTests {
    private static let context = FilterContext(
        root: [
            "list": .array((0..<10_000).map { .number(Double($0)) }),
            "long": .string(String(repeating: "ab", count: 50_000)),
            "rows": .array(
                (0..<5000).map { ["x": .number(Double($0)), "long": .string(String(repeating: "a", count: 1000))] }),
        ])

    private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    @Test(arguments: [
        repeated("(", 5000) + "1" + repeated(")", 5000), repeated("[", 5000) + repeated("]", 5000),
        repeated("{a:", 4000) + "1" + repeated("}", 4000), repeated("a[", 5000) + "1" + repeated("]", 5000),
        repeated("1 ? ", 1500) + "1" + repeated(" : 1", 1500), repeated("1 ?: ", 3000) + "1",
        repeated("a|b(", 3000) + repeated(")", 3000), repeated("(", 16_000),
    ])
    func deepExpressionIsRefused(_ text: String) throws {
        let error = #expect(throws: Failure.self) { try FilterExpression(parsing: text) }
        #expect(error?.code == .overLimit && error?.description.contains("levels deep") == true, "\(text.prefix(20))")
    }

    /// The deepest allowed expressions, parsed and evaluated on a stack smaller than the 512 KiB of a secondary thread
    /// on Apple platforms. A debug build uses most of it.
    @Test(arguments: [
        repeated("1 + 0 * 1 ^ (", 31) + "1" + repeated(")", 31) + " == 1",
        repeated("1 in [", 30) + "1" + repeated("]", 30) + " == false",
        repeated("[1]|keys(", 31) + "1" + repeated(")", 31) + "|length == 1",
        repeated("{a: ", 31) + "1" + repeated("}", 31) + " != 1",
        repeated("list[", 31) + "0" + repeated("]", 31) + " == 0",
        repeated("true ? ", 31) + "true" + repeated(" : false", 31),
    ])
    func deepestExpressionFitsSmallStack(_ text: String) throws {
        let outcome = Mutex<FilterOutcome?>(nil)
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            var filter = RecordFilter(context: Self.context)
            let result = filter.outcome(of: text)
            outcome.withLock { $0 = result }
            done.signal()
        }
        // Sanitizers make stack frames several times larger.
        thread.stackSize = (ProcessInfo.processInfo.environment["RS_SANITIZED"] == nil ? 320 : 4096) << 10
        thread.start()
        done.wait()
        #expect(outcome.withLock { $0 } == .passed)
    }

    @Test func longExpressionIsRefused() throws {
        #expect(throws: Failure.tooLong(bytes: 16_385, limit: 16_384)) {
            try FilterExpression(parsing: Self.repeated(" ", 16_384) + "1")
        }
        #expect(try FilterExpression(parsing: Self.repeated(" ", 16_379) + "1==1").matches(.empty))
    }

    /// Long chains of operators are allowed: they need no nesting.
    @Test(arguments: [
        repeated("1 == 2 || ", 1600) + "true", repeated("!", 16_000) + "true", repeated("1+", 8000) + "1 == 8001",
        "[" + repeated("1,", 8000) + "]|length == 8000", repeated("((((1 + ", 1) + "1)))) == 2",
        "'" + repeated("x", 16_000) + "' != 'x'", "true" + repeated(" && true", 2000),
        "x" + repeated(".x", 8000) + " == null", "[[1]]" + repeated("[0]", 5000) + " == null",
    ])
    func longOperatorChainIsEvaluated(_ text: String) throws {
        #expect(try FilterExpression(parsing: text).outcome(in: Self.context) == .passed)
    }

    @Test(arguments: [
        "list intersect list", "rows[rows[.x > 0]|length > .x]",
        "rows[.long == .long && .long + .long != .long]|length",
        "rows[.long|regExpMatch('(a*)*b')]", "long|regExpMatch('(.*)*x')", "rows['b' in .long]|length",
        "[list == list, list == list, list == list][" + repeated("list == list && ", 100) + "0]",
        "rows|mapToProperty('" + repeated("x", 10_000) + "')", "rows[.x >= 0 && list == list]",
    ])
    func costlyExpressionIsStopped(_ text: String) throws {
        #expect(try FilterExpression(parsing: text).outcome(in: Self.context) == .failed(.tooMuchWork(limit: 200_000)))
    }

    @Test(arguments: ["long + ''", "long + long + long", "rows|stableSample(0.5)"])
    func largeValueIsRefused(_ text: String) throws {
        #expect(
            try FilterExpression(parsing: text).outcome(in: Self.context)
                == .failed(.tooLarge(what: "a string with more bytes", limit: 65_536)))
    }

    @Test func extremeNumbers() throws {
        func value(_ text: String) throws -> FilterValue {
            try FilterExpression(parsing: text).evaluate(in: Self.context)
        }
        #expect(try value("2^9999") == .number(.infinity))
        #expect(try value("(0-2)^9999") == .number(-.infinity))
        #expect(try value(Self.repeated("9", 5000)) == .number(.infinity))
        #expect(try value("0." + Self.repeated("0", 5000) + "1 < 1") == true)
        #expect(try value("list[2^70]") == .undefined)
        #expect(try value("list[0/0]") == .undefined)
        #expect(try value("1 % 0 == 1 % 0") == false)
        #expect(try value("'\(Self.repeated("9", 5000)).1'|versionCompare('*')") == 1)
        #expect(try value("1^(1/0) == 1") == false)
    }

    @Test func outcomeDescriptionIsShort() throws {
        let text = "[" + Self.repeated("long,", 3000) + "]"
        let outcome = try FilterExpression(parsing: text).outcome(in: Self.context)
        guard case .notBoolean = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(outcome.description.utf8.count < 300)
    }
}
