/// The position of an object's member in the canonical output.
struct CanonicalMember {
    /// The start and the end of the key's bytes, between its quotes.
    var keyStart: Int
    var keyEnd: Int
    var valueEnd: Int
    /// The position at which the member began in the input, for error messages.
    var inputOffset: Int
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

    /// Compares two keys by code points: negative if `left` comes first, zero if both are the same.
    static func order(
        _ left: CanonicalMember, _ right: CanonicalMember, in output: borrowing OutputBuffer
    ) -> Int {
        if left.hasPlainKey && right.hasPlainKey {
            return output.withSpan { $0.extracting(left.key).compare(with: $0.extracting(right.key)) }
        }
        // The order of UTF-8 is that of code points.
        let (a, b) = (left.keyText(in: output).exact, right.keyText(in: output).exact)
        return a < b ? -1 : a == b ? 0 : 1
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
