/// Text from outside, made harmless for a terminal and unambiguous for a reader.
package enum VisibleText {
    /// Escapes every character that could control a terminal, break a line or be invisible.
    ///
    /// The escapes look like `\u{1b}`. The escaped characters are Unicode's categories Cc, Cf (bidirectional overrides,
    /// zero-width characters, tags), Zl and Zp.
    package static func escape(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isInvisible) else { return text }
        var visible = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isInvisible(scalar) {
                visible.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            } else {
                visible.append(scalar)
            }
        }
        return String(visible)
    }

    package static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        if (0x20...0x7E).contains(scalar.value) { return false }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}
