extension OutputBuffer {
    /// Copies printable ASCII that is neither a quote nor a backslash, and moves `position` to the first other byte.
    @inline(__always)
    mutating func appendPlain(_ input: Span<UInt8>, _ position: inout Int) {
        let raw = unsafe input.bytes
        while position + 8 <= input.count {
            let word = UInt64(
                littleEndian: unsafe raw.unsafeLoadUnaligned(fromUncheckedByteOffset: position, as: UInt64.self))
            let special = JSONLexer.special(in: word)
            let length = special == 0 ? 8 : special.trailingZeroBitCount >> 3
            append(word, length: length)
            position += length
            if special != 0 { return }
        }
        while position < input.count {
            let byte = unsafe input[unchecked: position]
            if !JSONLexer.isPlain(byte) { return }
            append(byte)
            position += 1
        }
    }

    /// Appends a character of a string in its canonical form.
    ///
    /// - Returns: whether the character is written as it is, without an escape.
    mutating func appendEscaped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\"": append("\\\"")
        case "\\": append("\\\\")
        case "\u{08}": append("\\b")
        case "\u{0C}": append("\\f")
        case "\n": append("\\n")
        case "\r": append("\\r")
        case "\t": append("\\t")
        case " "..."~":
            append(UInt8(truncatingIfNeeded: scalar.value))
            return true
        case ..."\u{FFFF}": appendEscape(scalar.value)
        default:
            // RFC 8259, section 7, requires a surrogate pair here.
            let rest = scalar.value - 0x10000
            appendEscape(0xD800 + rest >> 10)
            appendEscape(0xDC00 + rest & 0x3FF)
        }
        return false
    }

    private mutating func appendEscape(_ unit: UInt32) {
        var word = UInt64(UInt8(ascii: "\\")) | UInt64(UInt8(ascii: "u")) << 8
        for digit: UInt64 in 0..<4 {
            let value = UInt64(unit) >> (12 - 4 * digit) & 15
            word |= (value + (value < 10 ? 48 : 87)) << (16 + 8 * digit)
        }
        append(word, length: 6)
    }
}
