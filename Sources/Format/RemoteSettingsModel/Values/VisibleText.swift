/// Makes untrusted text safe to display: visible, on one line, and of limited length.
package enum VisibleText {
    /// The maximum length, in bytes after escaping, of a quoted untrusted text.
    package static let quotedBytes = 1 << 10

    /// Escapes each character that could control a terminal, break a line or be invisible.
    ///
    /// The escapes look like `\u{1b}`. The escaped characters are Unicode's categories Cc, Cf (bidirectional overrides,
    /// zero-width characters, tags), Zl and Zp, its default-ignorable characters (fillers, variation selectors), and
    /// the blank Braille pattern; but not those that an emoji consists of.
    package static func escape(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: canBeInvisible) else { return text }
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

    /// Calls `body` with each character of a text, whether it is invisible there, and the next character, until `body`
    /// returns `false`.
    package static func forEachCharacter(
        in text: String, _ body: (Unicode.Scalar, _ isInvisible: Bool, _ next: Unicode.Scalar?) -> Bool
    ) {
        var rest = text.unicodeScalars.makeIterator()
        var next = rest.next()
        /// The previous character, if it is visible.
        var previous: Unicode.Scalar?
        while let scalar = next {
            next = rest.next()
            let isInvisible = canBeInvisible(scalar) && !isPartOfEmoji(scalar, after: previous, before: next)
            guard body(scalar, isInvisible, next) else { return }
            previous = isInvisible ? nil : scalar
        }
    }

    /// Returns whether a character is invisible, except in an emoji.
    private static func canBeInvisible(_ scalar: Unicode.Scalar) -> Bool {
        if (0x20...0x7E).contains(scalar.value) { return false }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint || scalar == "\u{2800}"
        }
    }

    /// Returns whether a joiner or a variation selector is in an emoji and changes its appearance (UTS 51).
    private static func isPartOfEmoji(
        _ scalar: Unicode.Scalar, after previous: Unicode.Scalar?, before next: Unicode.Scalar?
    ) -> Bool {
        guard let previous else { return false }
        switch scalar {
        case "\u{200D}": return (isEmoji(previous) || previous == "\u{FE0F}") && next.map(isEmoji) ?? false
        case "\u{FE0E}": return isEmoji(previous) && previous.properties.isEmojiPresentation
        case "\u{FE0F}": return isEmoji(previous) && !previous.properties.isEmojiPresentation
        default: return false
        }
    }

    /// Returns whether a character is an emoji. Digits, which Unicode includes because of keycaps, are not.
    private static func isEmoji(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value > 0x7F && scalar.properties.isEmoji
    }

    /// Returns the beginning of a text, escaped, and whether it is the whole text.
    package static func beginning(_ text: String, limit: Int) -> (shown: String, isWhole: Bool) {
        var visible = String.UnicodeScalarView()
        var bytes = 0
        var isWhole = true
        forEachCharacter(in: text) { scalar, isInvisible, next in
            let escape = isInvisible ? "\\u{\(String(scalar.value, radix: 16))}" : nil
            bytes += escape?.utf8.count ?? UTF8.width(scalar)
            // A joiner is visible only together with the next character.
            let joined = scalar == "\u{200D}" && !isInvisible ? next.map { UTF8.width($0) } ?? 0 : 0
            isWhole = bytes <= limit && joined <= limit - bytes
            guard isWhole else { return false }
            if let escape { visible.append(contentsOf: escape.unicodeScalars) } else { visible.append(scalar) }
            return true
        }
        return (String(visible), isWhole)
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
