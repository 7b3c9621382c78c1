/// Searches for fixed bytes with Horspool's algorithm, which skips most bytes without reading them.
package struct ByteSearch: Sendable {
    private let pattern: [UInt8]
    /// For each byte value, the distance to move the pattern if this byte is under the pattern's last position.
    private let moves: [Int]
    private let ignoresCase: Bool

    /// Prepares a search.
    ///
    /// - Parameters:
    ///   - pattern: the bytes to search for. An empty pattern is found at the start of any bytes.
    ///   - ignoresCase: whether the letters A to Z match in either case.
    package init(_ pattern: some Sequence<UInt8>, ignoresCase: Bool = false) {
        self.ignoresCase = ignoresCase
        self.pattern = pattern.map { ignoresCase ? Self.lowered($0) : $0 }
        let last = self.pattern.count - 1
        var moves = Array(repeating: max(1, last + 1), count: 256)
        for (index, byte) in self.pattern.dropLast().enumerated() {
            moves[Int(byte)] = last - index
            if ignoresCase, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) {
                moves[Int(byte & ~0x20)] = last - index
            }
        }
        self.moves = moves
    }

    /// Returns the position of the pattern's first occurrence; `nil` if there is none.
    package func first(in bytes: Span<UInt8>) -> Int? {
        let last = pattern.count - 1
        guard last >= 0 else { return 0 }
        let pattern = pattern.span
        let moves = moves.span
        var end = last
        while end < bytes.count {
            let byte = bytes[end]
            if matches(byte, pattern[last]) {
                var index = 0
                while index < last, matches(bytes[end - last + index], pattern[index]) { index += 1 }
                if index == last { return end - last }
            }
            end += moves[Int(byte)]
        }
        return nil
    }

    @inline(__always)
    private func matches(_ byte: UInt8, _ wanted: UInt8) -> Bool {
        byte == wanted || ignoresCase && Self.lowered(byte) == wanted
    }

    private static func lowered(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
