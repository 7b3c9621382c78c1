import RemoteSettingsModel

/// An escaper of untrusted text for Markdown documents (CommonMark 0.31, and the dialects of GitHub and GitLab).
///
/// On these sites, only a code span disables markup, `@name`, `#1` and commit hashes, so all untrusted text is put into
/// code spans.
package enum MarkdownText {
    /// Returns a code span that the text cannot close.
    ///
    /// Its fence is longer than any run of backticks in the text. Control characters and line breaks are escaped. In a
    /// table cell, use ``cell(_:)``, because the text may contain a `|`.
    package static func code(_ text: String) -> String {
        let visible = VisibleText.escape(text)
        // Iterates over scalars, because a parser recognizes a backtick even if a combining accent follows it.
        let scalars = visible.unicodeScalars
        guard let first = scalars.first, let last = scalars.last else { return "(empty)" }
        var (longest, run) = (0, 0)
        for scalar in scalars {
            run = scalar == "`" ? run + 1 : 0
            longest = max(longest, run)
        }
        let fence = String(repeating: "`", count: longest + 1)
        // If a span begins and ends with a space, parsers remove one space on each side (CommonMark, 6.1).
        let needsSpace = first == "`" || last == "`" || (first == " " && last == " ")
        return needsSpace ? "\(fence) \(visible) \(fence)" : "\(fence)\(visible)\(fence)"
    }

    /// Returns a sentence as Markdown. Only its plain words and small numbers remain text, because they cannot become
    /// markup or a link. Every other word, and every rsdump command, becomes a code span.
    package static func prose(_ sentence: String) -> String {
        var parts: [String] = []
        var command: [Substring] = []
        for word in sentence.split(separator: " ") {
            let isEnd = command.last?.utf8.last.map(punctuation.contains) == true || isOne(of: commandEnds, word)
            if !command.isEmpty, isEnd {
                parts.append(span(command.joined(separator: " ")))
                command = []
            }
            let begins = isOne(of: ["rsdump"], word) && parts.last.map { isOne(of: commandStarts, $0[...]) } == true
            if !command.isEmpty || begins {
                command.append(word)
            } else {
                parts.append(isPlain(word) ? String(word) : span(String(word)))
            }
        }
        if !command.isEmpty { parts.append(span(command.joined(separator: " "))) }
        return parts.joined(separator: " ")
    }

    private static let punctuation = Array(",;:.)".utf8)
    /// The words before a command of rsdump, and those that follow one without a comma.
    private static let commandStarts = ["run", "with", "run:", "with:"]
    private static let commandEnds = ["or", "and", "on", "to", "while"]

    private static func isOne(of words: [String], _ word: Substring) -> Bool {
        words.contains { $0.utf8.elementsEqual(word.utf8) }
    }

    /// Whether a word, without parentheses and punctuation around it, starts with an ASCII letter and has only ASCII
    /// letters and apostrophes, or is a number of at most four digits. A word of seven or more letters from a to f is
    /// not plain, because it may be a commit hash.
    private static func isPlain(_ word: Substring) -> Bool {
        let core = core(of: word)
        func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
        let isNumber = (1...4).contains(core.count) && core.allSatisfy { (0x30...0x39).contains($0) }
        let isHash = core.count >= 7 && core.allSatisfy { (0x61...0x66).contains($0 | 0x20) }
        return isNumber || word.utf8.elementsEqual("→".utf8)
            || !isHash && core.first.map(isLetter) == true && core.allSatisfy { isLetter($0) || $0 == 0x27 }
    }

    /// A code span without the parentheses and the punctuation around the text.
    private static func span(_ text: String) -> String {
        let core = core(of: text[...])
        guard !core.isEmpty else { return code(text) }
        return String(text[..<core.startIndex]) + code(String(text[core.startIndex..<core.endIndex]))
            + String(text[core.endIndex...])
    }

    private static func core(of text: Substring) -> Substring.UTF8View {
        var core = text.utf8
        while core.first == UInt8(ascii: "(") { core = core.dropFirst() }
        while core.last.map(punctuation.contains) == true { core = core.dropLast() }
        return core
    }

    /// Returns a code span for a table cell. There, a `|` would start the next cell even inside the span.
    package static func cell(_ text: String) -> String {
        var cell = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "|" { cell.append(contentsOf: "\\u{7c}".unicodeScalars) } else { cell.append(scalar) }
        }
        return code(String(cell))
    }
}
