/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators"), so that runs are repeatable.
package struct FuzzRandom: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, which must be at least 1.
    mutating func below(_ bound: Int) -> Int { Int(truncatingIfNeeded: next() >> 1) % max(1, bound) }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    mutating func range(in count: Int, atMost longest: Int) -> Range<Int> {
        let start = below(count + 1)
        return start..<min(count, start + below(longest + 1))
    }
}

/// Boundary values of integer types and formats.
enum EdgeNumbers {
    static let integers: [UInt64] = {
        var numbers: Set<UInt64> = [0, 1, 2, 9, 10, 99, 100, 127, 128, 255, 256]
        for bits in [8, 15, 16, 24, 31, 32, 48, 53, 62, 63] as [UInt64] {
            for delta in [-2, -1, 0, 1, 2] as [Int64] { numbers.insert((1 << bits) &+ UInt64(bitPattern: delta)) }
        }
        numbers.formUnion([.max, .max - 1, 1_700_000_000_000, 253_402_300_799_999, 253_402_300_800_000])
        return numbers.sorted()
    }()

    /// As JSON text, including numbers beyond 64 bits.
    static let texts: [String] =
        integers.map { "\($0)" } + integers.map { "-\($0)" } + [
            "18446744073709551616", "-9223372036854775809", "-0", "-0.0", "0.0", "1e308", "1.7976931348623157e308",
            "1.7976931348623159e308", "2e308", "-1e309", "5e-324", "2e-324", "4.9406564584124654e-324", "1e-400", "0e0",
            "1E+2", "1e-7", "1e21", "0.1", "1.0", "123456789012345678", "1234567890123456789", "9007199254740993",
            "9007199254740993.0", "0.30000000000000004", "2.2250738585072014e-308", "2.2250738585072011e-308",
            "1e23", "9.5367431640625e-07", "1e99999999999999999999",
            String(repeating: "9", count: 40), "0." + String(repeating: "0", count: 400) + "1",
            "1" + String(repeating: "0", count: 400), String(repeating: "7", count: 900),
        ]
}

/// Mutations that a fuzzer without knowledge of formats rarely makes.
enum TextMutation {
    static func apply(to bytes: inout [UInt8], words: [String], _ random: inout FuzzRandom) {
        for _ in 0...random.below(3) {
            switch random.below(9) {
            case 0, 1: replaceNumber(in: &bytes, &random)
            case 2...3 where !words.isEmpty:
                bytes.insert(contentsOf: random.pick(words).utf8, at: random.below(bytes.count + 1))
            case 4 where !words.isEmpty:
                let range = random.range(in: bytes.count, atMost: 12)
                bytes.replaceSubrange(range, with: random.pick(words).utf8)
            case 5: bytes.removeSubrange(random.range(in: bytes.count, atMost: 1 + bytes.count / 4))
            case 6:
                let piece = Array(bytes[random.range(in: bytes.count, atMost: 200)])
                bytes.insert(contentsOf: piece, at: random.below(bytes.count + 1))
            case 7: nest(&bytes, &random)
            default: replaceItem(in: &bytes, &random)
            }
        }
    }

    /// Replaces one run of digits, with its sign, fraction and exponent.
    private static func replaceNumber(in bytes: inout [UInt8], _ random: inout FuzzRandom) {
        let from = random.below(bytes.count + 1)
        let number = random.pick(EdgeNumbers.texts).utf8
        guard let start = bytes[from...].firstIndex(where: { (48...57).contains($0) }) else {
            bytes.insert(contentsOf: number, at: from)
            return
        }
        var end = start
        while end < bytes.count, (48...57).contains(bytes[end]) || bytes[end] == 46 { end += 1 }
        bytes.replaceSubrange(start..<end, with: number)
    }

    /// Nests a part in brackets, deeper than any limit.
    private static func nest(_ bytes: inout [UInt8], _ random: inout FuzzRandom) {
        let (open, close) = random.pick([("[", "]"), ("{\"a\":", "}"), ("(", ")"), ("{\"id\":[", "]}")])
        let depth = random.pick([1, 2, 31, 32, 33, 126, 127, 128, 129, 200])
        let range = random.range(in: bytes.count, atMost: 20)
        let inner = Array(bytes[range])
        let nested = String(repeating: open, count: depth).utf8 + inner + String(repeating: close, count: depth).utf8
        bytes.replaceSubrange(range, with: nested)
    }

    /// Duplicates, removes or moves the text between two separators.
    private static func replaceItem(in bytes: inout [UInt8], _ random: inout FuzzRandom) {
        let separators = Array(",:{}[]\n&/|\"".utf8)
        func next(_ from: Int) -> Int {
            bytes[min(from, bytes.count)...].firstIndex(where: separators.contains) ?? bytes.count
        }
        let start = next(random.below(bytes.count + 1))
        let end = next(next(start + 1) + random.below(2))
        guard start < end else { return }
        let item = Array(bytes[start..<end])
        switch random.below(3) {
        case 0: bytes.insert(contentsOf: item, at: end)
        case 1: bytes.removeSubrange(start..<end)
        default:
            bytes.removeSubrange(start..<end)
            bytes.insert(contentsOf: item, at: next(random.below(bytes.count + 1)))
        }
    }
}

extension FuzzTarget {
    /// Mutates an input according to its format.
    package func mutate(_ input: inout [UInt8], seed: UInt64) {
        var random = FuzzRandom(seed: seed)
        if let mutate, random.below(3) > 0 {
            mutate(&input, &random)
        } else {
            TextMutation.apply(to: &input, words: words, &random)
        }
        if input.count > longest { input.removeSubrange(longest...) }
    }
}
