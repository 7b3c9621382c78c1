/// Text from outside, made harmless for a terminal and honest for a reader.
package enum VisibleText {
    /// The text with every character that could steer a terminal, break a line or hide from the eye written as
    /// `\u{1b}`: Unicode's categories Cc, Cf (bidirectional overrides, zero-width characters, tags), Zl and Zp.
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
