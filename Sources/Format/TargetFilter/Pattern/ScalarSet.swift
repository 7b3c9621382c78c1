/// A set of Unicode scalars, as sorted, non-adjacent ranges.
struct ScalarSet: Sendable, Equatable {
    private let ranges: [ClosedRange<UInt32>]

    init(_ ranges: [ClosedRange<UInt32>]) {
        var merged: [ClosedRange<UInt32>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound &+ 1 {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        self.ranges = merged
    }

    /// Digits: `\d`.
    static let digits = ScalarSet([0x30...0x39])
    /// Word characters: `\w`.
    static let words = ScalarSet([0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
    /// White space: `\s`.
    static let blanks = ScalarSet([
        0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A, 0x2028...0x2029, 0x202F...0x202F,
        0x205F...0x205F, 0x3000...0x3000, 0xFEFF...0xFEFF,
    ])
    static let lineEnds = ScalarSet([0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029])

    var inverted: ScalarSet {
        var gaps: [ClosedRange<UInt32>] = []
        var next: UInt32 = 0
        for range in ranges {
            if range.lowerBound > next { gaps.append(next...(range.lowerBound - 1)) }
            next = range.upperBound + 1
        }
        if next <= 0x10FFFF { gaps.append(next...0x10FFFF) }
        return ScalarSet(gaps)
    }

    func union(_ others: [ScalarSet]) -> ScalarSet {
        ScalarSet(others.reduce(into: ranges) { $0 += $1.ranges })
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < scalar.value { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].contains(scalar.value)
    }
}

/// Case-insensitive comparison of letters.
enum CaseFolding {
    /// Returns the canonical form of a letter according to ECMA-262. It is the upper-case letter, unless that is
    /// several scalars, or is ASCII while the letter is not.
    static func fold(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        if scalar.isASCII {
            return ("a"..."z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value) - 32) : scalar
        }
        let upper = scalar.properties.uppercaseMapping.unicodeScalars
        guard upper.count == 1, let folded = upper.first, !folded.isASCII else { return scalar }
        return folded
    }

    /// Returns the scalar with its upper-case and lower-case forms.
    static func variants(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        let lower = scalar.properties.lowercaseMapping.unicodeScalars
        return [scalar, fold(scalar)] + (lower.count == 1 ? Array(lower) : [])
    }
}
