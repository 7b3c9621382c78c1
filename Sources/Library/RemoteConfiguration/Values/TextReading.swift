/// A parser of strings as booleans or numbers, by the rules of `NSString`, which Firebase uses for all of its values.
///
/// It does not use Foundation, whose rules differ between systems. On Linux, for example, a number after a line feed
/// becomes 0.
enum TextReading {
    /// Returns whether the string begins with a digit from 1 to 9, or with Y, y, T or t. White space, one sign and
    /// zeros may precede that, in this order.
    static func bool(_ text: String) -> Bool {
        var rest = withoutSpace(text)
        if let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { rest.removeFirst() }
        return switch rest.first(where: { $0 != UInt8(ascii: "0") }) ?? 0 {
        case UInt8(ascii: "1")...UInt8(ascii: "9"), UInt8(ascii: "Y"), UInt8(ascii: "y"), UInt8(ascii: "T"),
            UInt8(ascii: "t"):
            true
        default: false
        }
    }

    /// Returns the decimal number at the beginning of the string, after white space, in the format of `Double` and
    /// `Decimal`; `nil` if there is none.
    static func number(_ text: String) -> Substring? {
        var rest = withoutSpace(text)
        let isNegative = rest.first == UInt8(ascii: "-")
        if rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        let start = rest.startIndex
        if isNegative { rest.removeFirst() }
        func skipDigits() -> Bool {
            let digits = rest.prefix { (48...57).contains($0) }
            rest = rest[digits.endIndex...]
            return !digits.isEmpty
        }
        let isWhole = skipDigits()
        var end = rest.startIndex
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            let hasFraction = skipDigits()
            guard isWhole || hasFraction else { return nil }
            // A decimal point without digits after it is part of the number only before an exponent.
            if hasFraction { end = rest.startIndex }
        } else if !isWhole {
            return nil
        }
        if let mark = rest.first, mark | 0x20 == UInt8(ascii: "e") {
            rest.removeFirst()
            if let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { rest.removeFirst() }
            if skipDigits() { end = rest.startIndex }
        }
        return text[start..<end]
    }

    /// Returns whether the string begins like a JSON object or array.
    static func beginsDocument(_ text: String) -> Bool {
        let first = withoutSpace(text).first
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    private static func withoutSpace(_ text: String) -> Substring.UTF8View {
        // A fast path for ASCII: most strings begin without white space, or with a single space.
        let ascii = text.utf8.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
        guard let first = ascii.first, first >= 0x80 else { return ascii }
        let index = text.unicodeScalars.firstIndex { !$0.properties.isWhitespace && $0 != "\u{200B}" }
        return text[(index ?? text.endIndex)...].utf8
    }
}
