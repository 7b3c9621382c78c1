/// Looks for fixed bytes, by Horspool: most of what is passed over is never read.
struct ByteSearch: Sendable {
    /// The key of a record's filter, as canonical JSON writes it.
    static let filterMember = ByteSearch("\"\(RecordFilter.fieldName)\":")

    private let pattern: [UInt8]
    /// For each byte, how far the pattern may move on where that byte stands under the pattern's last one.
    private let moves: [Int]

    init(_ text: String) {
        pattern = Array(text.utf8)
        var moves = Array(repeating: pattern.count, count: 256)
        for (index, byte) in pattern.dropLast().enumerated() { moves[Int(byte)] = pattern.count - 1 - index }
        self.moves = moves
    }

    func isFound(in bytes: Span<UInt8>) -> Bool {
        let last = pattern.count - 1
        let pattern = pattern.span
        let moves = moves.span
        var end = last
        while end < bytes.count {
            let byte = bytes[end]
            if byte == pattern[last] {
                var index = 0
                while index < last, bytes[end - last + index] == pattern[index] { index += 1 }
                if index == last { return true }
            }
            end += moves[Int(byte)]
        }
        return false
    }
}
