import RemoteSettingsModel

/// Text from outside as part of a Markdown document (CommonMark 0.31, GitHub's and GitLab's dialects).
///
/// Only in a code span do these sites ignore markup, `@name`, `#1` and commit hashes. So everything from outside goes
/// into one.
package enum MarkdownText {
    /// A code span that the text cannot end.
    ///
    /// Its fence is longer than any run of backticks in the text. Control characters are escaped, line breaks included.
    /// If the text may have a `|`, use ``cell(_:)`` for a table's cell.
    package static func code(_ text: String) -> String {
        let visible = VisibleText.escape(text)
        // Scalars are compared, not characters: a backtick with a combining accent is still a backtick to a parser.
        let scalars = visible.unicodeScalars
        guard let first = scalars.first, let last = scalars.last else { return "(empty)" }
        var (longest, run) = (0, 0)
        for scalar in scalars {
            run = scalar == "`" ? run + 1 : 0
            longest = max(longest, run)
        }
        let fence = String(repeating: "`", count: longest + 1)
        // If a span has a space on both sides, parsers remove one on each (CommonMark, 6.1).
        let needsSpace = first == "`" || last == "`" || (first == " " && last == " ")
        return needsSpace ? "\(fence) \(visible) \(fence)" : "\(fence)\(visible)\(fence)"
    }

    /// A code span for a table's cell, in which a `|` would start the next cell even inside the span.
    package static func cell(_ text: String) -> String {
        var cell = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "|" { cell.append(contentsOf: "\\u{7c}".unicodeScalars) } else { cell.append(scalar) }
        }
        return code(String(cell))
    }
}
