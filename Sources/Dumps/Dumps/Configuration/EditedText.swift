/// A YAML document that is edited at the positions reported by libyaml. Everything else, including line endings, is
/// preserved.
struct EditedText {
    private let hasByteOrderMark: Bool
    /// The Unicode scalars without a byte order mark, which libyaml does not count.
    private(set) var scalars: [Unicode.Scalar]

    init(_ text: String) {
        scalars = Array(text.unicodeScalars)
        hasByteOrderMark = scalars.first == "\u{FEFF}"
        if hasByteOrderMark { scalars.removeFirst() }
    }

    var text: String {
        String(String.UnicodeScalarView((hasByteOrderMark ? ["\u{FEFF}"] : []) + scalars))
    }

    /// Returns whether libyaml treats the scalar as a line break.
    private static func isLineEnd(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": true
        default: false
        }
    }

    /// Returns the start of the line that contains a position.
    func lineStart(of position: Int) -> Int {
        (scalars[..<min(position, scalars.count)].lastIndex(where: Self.isLineEnd) ?? -1) + 1
    }

    /// Returns the start of the line after a position, or the end of the text on the last line.
    func nextLine(after position: Int) -> Int {
        guard position < scalars.count, let end = scalars[position...].firstIndex(where: Self.isLineEnd) else {
            return scalars.count
        }
        return end + (scalars[end...].starts(with: ["\r", "\n"]) ? 2 : 1)
    }

    /// Returns the start of the line before `line`, which is the start of a line other than the first.
    func lineBefore(_ line: Int) -> Int {
        let hasTwo = line > 1 && scalars[line - 1] == "\n" && scalars[line - 2] == "\r"
        return lineStart(of: line - (hasTwo ? 2 : 1))
    }

    /// Returns the number of spaces before a position in its line; `nil` if anything else comes before it.
    func indent(of position: Int) -> Int? {
        guard position <= scalars.count else { return nil }
        let before = scalars[lineStart(of: position)..<position]
        return before.allSatisfy { $0 == " " } ? before.count : nil
    }

    /// Returns the position after a key and everything indented below it. Trailing blank lines and comments do not
    /// belong to the key.
    func end(of key: Int, indent: Int) -> Int {
        var end = nextLine(after: key)
        var line = end
        while line < scalars.count {
            let next = nextLine(after: line)
            let content = scalars[line..<next].drop { $0 == " " || $0 == "\t" || Self.isLineEnd($0) }
            if let first = content.first, first != "#" {
                guard scalars[line...].prefix(while: { $0 == " " }).count > indent else { break }
                end = next
            }
            line = next
        }
        return end
    }

    mutating func replace(_ range: Range<Int>, with text: String) {
        scalars.replaceSubrange(range.clamped(to: scalars.indices), with: text.unicodeScalars)
    }

    /// Inserts lines with the line ending of the text's first line.
    mutating func insert(_ lines: [String], at position: Int) {
        let end: String =
            switch scalars.firstIndex(where: { $0 == "\n" || $0 == "\r" }) {
            case let first? where scalars[first...].starts(with: ["\r", "\n"]): "\r\n"
            case let first?: String(scalars[first])
            case nil: "\n"
            }
        // If the text does not end with a line ending, neither does the result.
        let isAfterLine = position == 0 || Self.isLineEnd(scalars[position - 1])
        let new = lines.map { isAfterLine ? $0 + end : end + $0 }.joined()
        replace(position..<position, with: new)
    }
}
