import RemoteSettingsModel
import TargetFilter
import Testing

/// Random and damaged expressions have a value or an error; nothing crashes or hangs.
struct FuzzTests {
    /// SplitMix64, so that a failure can be repeated.
    private struct Source: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private static let seeds = [
        "env.channel == 'default' || env.channel == 'nightly'",
        "env.appinfo.OS != \"iOS\" && env.appinfo.OS != \"Android\"",
        "env.version|versionCompare(\"133.0a1\") >= 0 && env.version|versionCompare(\"138.0a1\") < 0",
        "rows[.x > 0 && .y in ['a', 'b']]|mapToProperty('x')[0] ?: {a: [1, -2.5,], 'b': null}",
        "2^3^2 % 7 // 2 * (1 - .5)",
        "'foobar'|regExpMatch('^foo(.+?)$', 'gi')[1] == 'bar' # why",
        "['id']|bucketSample(0, 5, 10) ? !true : 'x'|preferenceValue(3)",
        "'2016-04-22T12:30:15Z'|date < 5 intersect o|keys", "s|regExpMatch('(?=a)[^b-d]{2,3}?|\\\\b(\\\\w+)\\\\1')",
    ]
    private static let words = [
        "&&", "||", "==", "!=", "<=", "//", "^", "%", "!", "-", "?", ":", "?:", ".", "[", "]", "(", ")", "{", "}", "|",
        ",", "'", "\"", "\\", "#", "\n", "in ",
        " intersect ", "null", "true", ".5", "1e9", "é", "😀", "\u{0}", "|length", "|regExpMatch('(a*)*')",
        "|stableSample(.5)", "|versionCompare", "rows", "env", ".x",
    ]
    private static let context = FilterContext.app(
        channel: "nightly", version: "137.0", locale: "de", os: "Linux",
        custom: ["rows": [["x": 1, "y": "a"], ["x": -1]]])

    private func mutated(_ source: inout Source) -> String {
        var bytes = Array((Self.seeds.randomElement(using: &source) ?? "").utf8)
        for _ in 0..<Int.random(in: 1...6, using: &source) {
            let place = Int.random(in: 0...bytes.count, using: &source)
            switch Int.random(in: 0..<5, using: &source) {
            case 0: bytes.insert(contentsOf: (Self.words.randomElement(using: &source) ?? "").utf8, at: place)
            case 1: if place < bytes.count { bytes.remove(at: place) }
            case 2: if place < bytes.count { bytes[place] = UInt8.random(in: 0...255, using: &source) }
            case 3: bytes.removeSubrange(place..<min(place + 10, bytes.count))
            default:
                let other = Int.random(in: 0...bytes.count, using: &source)
                bytes.insert(contentsOf: bytes[min(place, other)..<max(place, other)], at: place)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: 1...4) func neverCrashes(seed: UInt64) throws {
        var source = Source(state: seed)
        var parsed = 0
        var evaluated = 0
        for round in 0..<5000 {
            let text: String
            switch round % 3 {
            case 0:
                text = String(
                    decoding: (0..<Int.random(in: 0...60, using: &source)).map { _ in
                        UInt8.random(in: 0...255, using: &source)
                    }, as: UTF8.self)
            case 1:
                text = (0..<Int.random(in: 1...20, using: &source)).map { _ in
                    Self.words.randomElement(using: &source) ?? ""
                }.joined()
            default: text = mutated(&source)
            }
            guard let expression = try? FilterExpression(parsing: text) else { continue }
            parsed += 1
            let outcome = expression.outcome(in: Self.context)
            if case .failed(let error) = outcome {
                #expect(!error.description.isEmpty)
            } else {
                evaluated += 1
            }
            // The same expression has the same value again.
            #expect(expression.matches(Self.context) == outcome.isIncluded)
        }
        #expect(parsed > 200 && evaluated > 100)
    }
}
