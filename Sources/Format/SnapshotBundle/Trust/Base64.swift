import RemoteSettingsModel

/// Decodes RFC 4648 base64 strictly: white space, other characters, and bits after the last byte are errors.
package enum Base64 {
    package enum Alphabet {
        /// The alphabet of RFC 4648, section 4 (`+`, `/`). Padding is required.
        case standard
        /// The alphabet of RFC 4648, section 5 (`-`, `_`). Padding is optional.
        case url
    }

    package static func decode(_ text: some RandomAccessCollection<UInt8>, _ alphabet: Alphabet) throws(Failure)
        -> [UInt8]
    {
        let pad = UInt8(ascii: "=")
        let padding = text.suffix(2).reversed().prefix { $0 == pad }.count
        let digits = text.dropLast(padding)
        guard digits.count % 4 != 1, padding == 0 || (digits.count + padding) % 4 == 0,
            alphabet == .url || (digits.count + padding) % 4 == 0
        else {
            throw .base64("\(digits.count) digits and \(padding) padding characters are not a whole number of bytes")
        }

        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var bits: UInt32 = 0
        var pending = 0
        for (position, digit) in digits.enumerated() {
            guard let value = value(of: digit, alphabet) else {
                let shown = String(reflecting: String(UnicodeScalar(digit)))
                throw .base64("character \(position + 1), \(shown), is not in the alphabet")
            }
            bits = bits << 6 | value
            pending += 6
            if pending >= 8 {
                pending -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(pending)))
            }
        }
        guard bits & (1 << UInt32(pending) - 1) == 0 else { throw .base64("there are unused bits after the last byte") }
        return bytes
    }

    private static func value(of digit: UInt8, _ alphabet: Alphabet) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit) - 97 + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit) - 48 + 52
        case UInt8(ascii: "+"): alphabet == .standard ? 62 : nil
        case UInt8(ascii: "/"): alphabet == .standard ? 63 : nil
        case UInt8(ascii: "-"): alphabet == .url ? 62 : nil
        case UInt8(ascii: "_"): alphabet == .url ? 63 : nil
        default: nil
        }
    }
}
