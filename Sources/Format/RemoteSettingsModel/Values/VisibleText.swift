/// Makes untrusted text safe to display: visible, on one line, and of limited length.
package enum VisibleText {
    /// The maximum length, in bytes after escaping, of a quoted untrusted text.
    package static let quotedBytes = 1 << 10

    /// Escapes each character that could control a terminal, break a line or be invisible.
    ///
    /// The escapes look like `\u{1b}`. The escaped characters are Unicode's categories Cc, Cf (bidirectional overrides,
    /// zero-width characters, tags), Zl and Zp.
    package static func escape(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isInvisible) else { return text }
        return beginning(text, limit: .max).shown
    }

    /// Returns the beginning of a text, escaped. A longer text is followed by `…` and its size.
    ///
    /// Time and memory depend only on `limit`, not on the text.
    ///
    /// - Parameter limit: the maximum size of the result in bytes of UTF-8, at least 40.
    package static func excerpt(_ text: String, limit: Int = quotedBytes) -> String {
        let (shown, isWhole) = beginning(text, limit: limit)
        if isWhole { return shown }
        let note = "… (\(text.utf8.count) bytes)"
        return beginning(text, limit: limit - note.utf8.count).shown + note
    }

    /// Returns the beginning of a text in quotes, for a message. The result is at most ``quotedBytes`` bytes long.
    package static func quote(_ text: some StringProtocol) -> String {
        // Escaping makes a byte at most six times as long.
        let (shown, isWhole) = cut(text.unicodeScalars, limit: quotedBytes / 8)
        return escape(String(reflecting: String(shown))) + (isWhole ? "" : "…")
    }

    package static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        if (0x20...0x7E).contains(scalar.value) { return false }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }

    /// Returns the beginning of a text, escaped, and whether it is the whole text.
    package static func beginning(_ text: String, limit: Int) -> (shown: String, isWhole: Bool) {
        var visible = String.UnicodeScalarView()
        var bytes = 0
        for scalar in text.unicodeScalars {
            let escape = isInvisible(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : nil
            bytes += escape?.utf8.count ?? UTF8.width(scalar)
            if bytes > limit { return (String(visible), false) }
            if let escape { visible.append(contentsOf: escape.unicodeScalars) } else { visible.append(scalar) }
        }
        return (String(visible), true)
    }

    private static func cut(
        _ scalars: some Sequence<Unicode.Scalar>, limit: Int
    ) -> (text: String.UnicodeScalarView, isWhole: Bool) {
        var (shown, bytes) = (String.UnicodeScalarView(), 0)
        for scalar in scalars {
            bytes += UTF8.width(scalar)
            if bytes > limit { return (shown, false) }
            shown.append(scalar)
        }
        return (shown, true)
    }
}
