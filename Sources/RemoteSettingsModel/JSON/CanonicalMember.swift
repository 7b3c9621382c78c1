/// Where a member of an object stands in canonical output.
struct CanonicalMember {
    enum Order {
        case ascending, equal, descending
    }

    /// The key's bytes between its quotes.
    var key: Range<Int>
    var value: Range<Int>
    /// Without escapes, so that the order of the bytes is that of the code points.
    var hasPlainKey: Bool
    /// Where the member began in what was read, for messages.
    var inputOffset: Int

    /// Where the member begins: the key's opening quote.
    var start: Int { key.lowerBound - 1 }

    func shifted(by delta: Int) -> CanonicalMember {
        CanonicalMember(
            key: key.lowerBound + delta..<key.upperBound + delta,
            value: value.lowerBound + delta..<value.upperBound + delta, hasPlainKey: hasPlainKey,
            inputOffset: inputOffset)
    }

    /// The order of two keys by code points.
    static func order(_ left: CanonicalMember, _ right: CanonicalMember, in output: [UInt8]) -> Order {
        if left.hasPlainKey && right.hasPlainKey {
            let span = output.span
            let shared = min(left.key.count, right.key.count)
            for index in 0..<shared {
                let a = span[left.key.lowerBound + index]
                let b = span[right.key.lowerBound + index]
                if a != b { return a < b ? .ascending : .descending }
            }
            return order(left.key.count, right.key.count)
        }
        let a = left.keyText(in: output).unicodeScalars
        let b = right.keyText(in: output).unicodeScalars
        for (x, y) in zip(a, b) where x != y { return x < y ? .ascending : .descending }
        return order(a.count, b.count)
    }

    private static func order(_ left: Int, _ right: Int) -> Order {
        left == right ? .equal : left < right ? .ascending : .descending
    }

    func keyText(in output: [UInt8]) -> String {
        JSONLexer.text(output.span, .init(content: key, isPlain: hasPlainKey, hasEscapes: !hasPlainKey))
    }

    /// Whether the key is `name`, which must be plain ASCII.
    func hasKey(_ name: StaticString, in output: [UInt8]) -> Bool {
        guard hasPlainKey, key.count == name.utf8CodeUnitCount else { return false }
        for index in 0..<key.count where unsafe output[key.lowerBound + index] != name.utf8Start[index] { return false }
        return true
    }

    func hasValue(_ text: StaticString, in output: [UInt8]) -> Bool {
        guard value.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<value.count where unsafe output[value.lowerBound + index] != text.utf8Start[index] { return false }
        return true
    }
}
