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

    /// Returns a code span for a table cell. There, a `|` would start the next cell even inside the span.
    package static func cell(_ text: String) -> String {
        var cell = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "|" { cell.append(contentsOf: "\\u{7c}".unicodeScalars) } else { cell.append(scalar) }
        }
        return code(String(cell))
    }
}
