#if Server
/// Invisible characters, and characters that reorder text (Unicode TR 36, §2.5 and UAX 9).
///
/// They could make one record look like another. The joiners U+200C and U+200D are not hidden, because scripts and
/// emoji need them.
enum HiddenCharacters {
    static func contains(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: false
        case 0x00...0x1F, 0x7F...0x9F, 0xAD, 0x61C, 0x180E, 0x200B, 0x200E, 0x200F, 0x2028...0x202E, 0x2060...0x206F,
            0xFEFF, 0xFFF9...0xFFFB, 0xE0000...0xE007F:
            true
        default: scalar.properties.generalCategory == .privateUse || scalar.value & 0xFFFE == 0xFFFE
        }
    }

    static func occur(in text: String) -> Bool {
        // Nearly all text is ASCII, so check its bytes first. The only hidden ASCII characters are control characters.
        for byte in text.utf8 where byte >= 0x7F || byte < 0x20 && byte != 0x0A && byte != 0x09 {
            return text.unicodeScalars.contains(where: contains)
        }
        return false
    }

    /// Returns the name of a character, such as `U+202E`.
    static func name(_ scalar: Unicode.Scalar) -> String {
        let hex = String(scalar.value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - hex.count)) + hex
    }

    /// Returns the text with each hidden character written like `[U+202E]`, for places that allow no markup.
    static func spelledOut(_ text: String) -> String {
        guard occur(in: text) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if contains(scalar) { result += "[\(name(scalar))]" } else { result.unicodeScalars.append(scalar) }
        }
        return result
    }
}
#endif
