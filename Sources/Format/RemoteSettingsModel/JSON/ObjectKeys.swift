/// The keys of an object that were read so far, for detecting duplicates.
///
/// As long as the keys are sorted, each costs only one comparison. After the first key that is out of order, all keys
/// are hashed.
struct ObjectKeys {
    /// The largest number of keys.
    let limit: Int
    private(set) var count = 0
    /// The keys, as long as they are sorted and have no escapes.
    private var ordered: [Range<Int>] = []
    private var texts: Set<ExactString>?

    init(limit: Int) {
        self.limit = limit
    }

    /// Adds a key.
    ///
    /// - Returns: whether the key is new.
    mutating func insert(_ token: JSONLexer.StringToken, _ input: Span<UInt8>) -> Bool {
        count += 1
        if texts == nil {
            let follows = ordered.last.map { input.extracting($0).compare(with: input.extracting(token.content)) < 0 }
            if !token.hasEscapes, follows ?? true {
                ordered.append(token.content)
                return true
            }
            texts = Set(ordered.map { input.extracting($0).text.exact })
        }
        return texts?.insert(JSONLexer.text(input, token).exact).inserted ?? false
    }
}
