/// Compares versions in Mozilla's toolkit version format (MDN, "Toolkit version format").
///
/// A version consists of parts separated by dots. A part has up to four pieces, a number, a string, a number and a
/// string: `3pre4x` is 3, `pre`, 4, `x`. Parts are compared from left to right, and a missing part counts as 0.
/// The four pieces of a part are compared in order: numbers by value, strings by bytes. A missing string is greater
/// than any other, so `1.0pre1 < 1.0pre2 < 1.0`. A part `*` is greater than any number. A `+` after the first number
/// means a prerelease of the next number: `1.0+` is `1.1pre`.
enum VersionOrder {
    private struct Part {
        var number = 0
        var text: ArraySlice<UInt8>?
        var secondNumber = 0
        var rest: ArraySlice<UInt8>?
    }

    /// Compares two versions.
    ///
    /// - Returns: -1, 0 or 1 if `left` is before, equal to or after `right`.
    static func compare(_ left: String, _ right: String) -> Int {
        let first = parts(left)
        let second = parts(right)
        for index in 0..<max(first.count, second.count) {
            let order = compare(
                index < first.count ? first[index] : Part(), index < second.count ? second[index] : Part())
            if order != 0 { return order }
        }
        return 0
    }

    private static func parts(_ version: String) -> [Part] {
        Array(version.utf8).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(part)
    }

    private static func part(_ bytes: ArraySlice<UInt8>) -> Part {
        if bytes.elementsEqual("*".utf8) { return Part(number: Int(Int32.max)) }
        var part = Part()
        var tail = bytes
        part.number = number(&tail)
        guard let next = tail.first else { return part }
        if next == UInt8(ascii: "+") {
            part.number += 1
            part.text = ArraySlice("pre".utf8)
            return part
        }
        let end = tail.firstIndex { isDigit($0) || isSign($0) } ?? tail.endIndex
        part.text = tail[..<end]
        guard end < tail.endIndex else { return part }
        tail = tail[end...]
        part.secondNumber = number(&tail)
        if !tail.isEmpty { part.rest = tail }
        return part
    }

    /// Reads a signed number at the start. If there is none, returns 0 and consumes nothing. A number that does not fit
    /// into 32 bits becomes the nearest 32-bit number.
    private static func number(_ bytes: inout ArraySlice<UInt8>) -> Int {
        var tail = bytes.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
        let isNegative = tail.first == UInt8(ascii: "-")
        if let first = tail.first, isSign(first) { tail = tail.dropFirst() }
        let digits = tail.prefix(while: isDigit)
        guard !digits.isEmpty else { return 0 }
        let value = digits.reduce(0) { min($0 * 10 + Int($1 - UInt8(ascii: "0")), Int(Int32.max)) }
        bytes = tail[digits.endIndex...]
        return isNegative ? -value : value
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private static func isSign(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") }

    private static func compare(_ left: Part, _ right: Part) -> Int {
        for order in [compare(left.number, right.number), compare(left.text, right.text)] where order != 0 {
            return order
        }
        let order = compare(left.secondNumber, right.secondNumber)
        return order != 0 ? order : compare(left.rest, right.rest)
    }

    private static func compare(_ left: Int, _ right: Int) -> Int { left < right ? -1 : left == right ? 0 : 1 }

    private static func compare(_ left: ArraySlice<UInt8>?, _ right: ArraySlice<UInt8>?) -> Int {
        guard let left else { return right == nil ? 0 : 1 }
        guard let right else { return -1 }
        if left.lexicographicallyPrecedes(right) { return -1 }
        return left.elementsEqual(right) ? 0 : 1
    }
}
