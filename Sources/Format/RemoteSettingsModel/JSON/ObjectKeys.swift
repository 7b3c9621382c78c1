/// The keys of an object so far. It finds a key that appears twice.
///
/// A key that follows in order costs one comparison. A few unordered keys are compared with each other; many are
/// hashed.
struct ObjectKeys {
    private struct Key {
        var content: Range<Int>
        /// The first eight bytes. They distinguish most keys.
        var prefix: UInt64
    }

    private static let mostCompared = 24

    /// The largest number of keys.
    let limit: Int
    private(set) var count = 0
    private var keys: [Key] = []
    private var isAscending = true
    /// The keys as UTF-8, used once comparisons would take too long or a key has escapes.
    private var texts: Set<[UInt8]>?

    init(limit: Int) {
        self.limit = limit
    }

    /// Adds a key.
    ///
    /// - Returns: whether the key is new.
    mutating func insert(_ token: JSONLexer.StringToken, _ input: Span<UInt8>) -> Bool {
        count += 1
        if texts == nil, token.hasEscapes || (!isAscending && keys.count >= Self.mostCompared) {
            texts = Set(keys.map { Array(Self.text(input, $0.content)) })
        }
        if texts != nil {
            let text = Array(JSONLexer.text(input, token).utf8)
            return texts?.insert(text).inserted ?? false
        }
        let key = Key(content: token.content, prefix: Self.prefix(input, token.content))
        if isAscending, keys.last.map({ Self.precedes($0, key, in: input) }) ?? true {
            keys.append(key)
            return true
        }
        isAscending = false
        for other in keys where other.prefix == key.prefix && Self.areEqual(other, key, in: input) { return false }
        keys.append(key)
        return true
    }

    private static func text(_ input: Span<UInt8>, _ content: Range<Int>) -> [UInt8] {
        unsafe input.extracting(content).withUnsafeBufferPointer { unsafe Array($0) }
    }

    private static func precedes(_ left: Key, _ right: Key, in input: Span<UInt8>) -> Bool {
        if left.prefix != right.prefix { return left.prefix < right.prefix }
        return order(left, right, in: input) < 0
    }

    private static func areEqual(_ left: Key, _ right: Key, in input: Span<UInt8>) -> Bool {
        input.extracting(left.content).hasSameBytes(as: input.extracting(right.content))
    }

    private static func order(_ left: Key, _ right: Key, in input: Span<UInt8>) -> Int {
        input.extracting(left.content).compare(with: input.extracting(right.content))
    }

    private static func prefix(_ input: Span<UInt8>, _ content: Range<Int>) -> UInt64 {
        let length = min(8, content.count)
        if length == 0 { return 0 }
        let unused = UInt64(8 - length) * 8
        if content.lowerBound + 8 <= input.count {
            let word = unsafe input.bytes.unsafeLoadUnaligned(
                fromUncheckedByteOffset: content.lowerBound, as: UInt64.self)
            return (UInt64(bigEndian: word) >> unused) << unused
        }
        var prefix: UInt64 = 0
        for index in content.lowerBound..<content.lowerBound + length { prefix = prefix << 8 | UInt64(input[index]) }
        return prefix << unused
    }
}
