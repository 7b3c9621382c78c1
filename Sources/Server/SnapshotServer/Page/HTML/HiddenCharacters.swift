import RemoteSettingsModel

/// Invisible characters, and characters that reorder text (Unicode TR 36, §2.5 and UAX 9).
///
/// They could make one record look like another. The joiners U+200C and U+200D are not hidden, because scripts need
/// them.
enum HiddenCharacters {
    /// Calls `body` with each character of a text, and whether it is hidden, until `body` returns `false`.
    static func forEachCharacter(in text: String, _ body: (Unicode.Scalar, _ isHidden: Bool) -> Bool) {
        VisibleText.forEachCharacter(in: text) { scalar, isInvisible, _ in
            let isHidden =
                switch scalar.value {
                case 0x09, 0x0A, 0x200C, 0x200D: false
                default:
                    isInvisible || scalar.properties.generalCategory == .privateUse || scalar.value & 0xFFFE == 0xFFFE
                }
            return body(scalar, isHidden)
        }
    }

    static func occur(in text: String) -> Bool {
        // Nearly all text is ASCII, so check its bytes first. The only hidden ASCII characters are control characters.
        for byte in text.utf8 where byte >= 0x7F || byte < 0x20 && byte != 0x0A && byte != 0x09 {
            var isFound = false
            forEachCharacter(in: text) { _, isHidden in
                isFound = isHidden
                return !isHidden
            }
            return isFound
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
        forEachCharacter(in: text) { scalar, isHidden in
            if isHidden { result += "[\(name(scalar))]" } else { result.unicodeScalars.append(scalar) }
            return true
        }
        return result
    }
}
