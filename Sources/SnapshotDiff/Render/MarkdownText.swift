import RemoteSettingsModel

/// Text from outside as a part of a Markdown document (CommonMark 0.31, GitHub's and GitLab's dialects).
///
/// A code span is the only place where neither markup nor `@name`, `#1` or a commit's hash means anything to these
/// sites, so that everything from outside goes into one.
package enum MarkdownText {
    /// A code span that the text cannot end: its fence is longer than any run of backticks in it, and control characters,
    /// line breaks among them, are escaped. Not for a table's cell where the text may have a `|`.
    package static func code(_ text: String) -> String {
        let visible = VisibleText.escape(text)
        // Scalars, not characters: a backtick with an accent upon it is still a backtick to a parser.
        let scalars = visible.unicodeScalars
        guard let first = scalars.first, let last = scalars.last else { return "(empty)" }
        var (longest, run) = (0, 0)
        for scalar in scalars {
            run = scalar == "`" ? run + 1 : 0
            longest = max(longest, run)
        }
        let fence = String(repeating: "`", count: longest + 1)
        // One space on either side is taken away again where both are there (CommonMark, 6.1).
        let needsSpace = first == "`" || last == "`" || (first == " " && last == " ")
        return needsSpace ? "\(fence) \(visible) \(fence)" : "\(fence)\(visible)\(fence)"
    }

    /// A code span for a table's cell, where a `|` would begin the next cell even inside of a span.
    package static func cell(_ text: String) -> String {
        var cell = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "|" { cell.append(contentsOf: "\\u{7c}".unicodeScalars) } else { cell.append(scalar) }
        }
        return code(String(cell))
    }
}
