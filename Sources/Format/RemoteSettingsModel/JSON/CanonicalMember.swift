/// The position of an object's member in the canonical output.
struct CanonicalMember {
    enum Order {
        case ascending, equal, descending
    }

    /// The start and the end of the key's bytes, between its quotes.
    var keyStart: Int
    var keyEnd: Int
    var valueEnd: Int
    /// The position at which the member began in the input, for error messages.
    var inputOffset: Int
    /// The key's first eight bytes, which decide most comparisons.
    var prefix: UInt64
    /// Whether the key has no escapes, so that the order of its bytes is that of its code points.
    var hasPlainKey: Bool

    var key: Range<Int> { keyStart..<keyEnd }
    /// The value, which begins after the key's closing quote and the colon.
    var value: Range<Int> { keyEnd + 2..<valueEnd }
    /// The whole member, from the key's opening quote.
    var range: Range<Int> { keyStart - 1..<valueEnd }

    mutating func shift(by delta: Int) {
        keyStart += delta
        keyEnd += delta
        valueEnd += delta
    }

    /// Compares two keys by code points.
    @inline(__always)
    static func order(
        _ left: CanonicalMember, _ right: CanonicalMember, in output: borrowing OutputBuffer
    ) -> Order {
        if left.hasPlainKey && right.hasPlainKey && left.prefix != right.prefix {
            return left.prefix < right.prefix ? .ascending : .descending
        }
        return remainingOrder(left, right, in: output)
    }

    @inline(never)
    private static func remainingOrder(
        _ left: CanonicalMember, _ right: CanonicalMember, in output: borrowing OutputBuffer
    ) -> Order {
        if left.hasPlainKey && right.hasPlainKey {
            return order(output.withSpan { $0.extracting(left.key).compare(with: $0.extracting(right.key)) }, 0)
        }
        let a = left.keyText(in: output).unicodeScalars
        let b = right.keyText(in: output).unicodeScalars
        for (x, y) in zip(a, b) where x != y { return x < y ? .ascending : .descending }
        return order(a.count, b.count)
    }

    private static func order(_ left: Int, _ right: Int) -> Order {
        left == right ? .equal : left < right ? .ascending : .descending
    }

    func keyText(in output: borrowing OutputBuffer) -> String {
        output.withSpan {
            JSONLexer.text($0, .init(content: key, isPlain: hasPlainKey, hasEscapes: !hasPlainKey))
        }
    }

    /// Whether the key is `name`, which must be plain ASCII.
    func hasKey(_ name: StaticString, in output: borrowing OutputBuffer) -> Bool {
        hasPlainKey && Self.bytes(key, are: name, in: output)
    }

    func hasValue(_ text: StaticString, in output: borrowing OutputBuffer) -> Bool {
        Self.bytes(value, are: text, in: output)
    }

    private static func bytes(
        _ range: Range<Int>, are text: StaticString, in output: borrowing OutputBuffer
    ) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for (offset, index) in range.enumerated() where unsafe output[index] != text.utf8Start[offset] { return false }
        return true
    }
}
