/// Percent-encoding of paths and queries (RFC 3986 §2.1).
package enum PercentEncoding {
    /// Encodes the bytes that a path or query cannot contain, and keeps existing escapes.
    ///
    /// Returns `nil` if a `%` is not followed by two hexadecimal digits.
    package static func complete(_ text: some StringProtocol) -> String? {
        let bytes = Array(text.utf8)
        if bytes.allSatisfy({ isAllowed($0) }) { return String(text) }
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count + 16)
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "%") {
                guard index + 2 < bytes.count, isHex(bytes[index + 1]), isHex(bytes[index + 2]) else { return nil }
                out.append(byte)
            } else {
                out += isAllowed(byte) ? [byte] : escaped(byte)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Encodes everything except the unreserved characters (RFC 3986 §2.3).
    package static func component(_ text: String) -> String {
        let out = text.utf8.flatMap { byte in
            isLetterOrDigit(byte) || "-._~".utf8.contains(byte) ? [byte] : escaped(byte)
        }
        return String(decoding: out, as: UTF8.self)
    }

    private static func escaped(_ byte: UInt8) -> [UInt8] { [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)] }

    /// Decodes all escapes. Invalid UTF-8 is replaced by U+FFFD, and a `%` without two hexadecimal digits is kept.
    ///
    /// - Parameter plusIsSpace: whether a plus sign is a space. It is in the query of a form
    ///   (application/x-www-form-urlencoded, WHATWG URL §5), but not in a path.
    package static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String {
        isPlain(text) ? String(text) : String(decoding: bytes(of: text, plusIsSpace: plusIsSpace).bytes, as: UTF8.self)
    }

    /// Decodes all escapes; returns `nil` if a `%` is not followed by two hexadecimal digits, or if the bytes are
    /// invalid UTF-8.
    package static func strictlyDecode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        if isPlain(text) { return String(text) }
        let (bytes, isWhole) = bytes(of: text, plusIsSpace: plusIsSpace)
        return isWhole ? String(validating: bytes, as: UTF8.self) : nil
    }

    private static func isPlain(_ text: some StringProtocol) -> Bool {
        !text.utf8.contains { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }
    }

    private static func bytes(of text: some StringProtocol, plusIsSpace: Bool) -> (bytes: [UInt8], isWhole: Bool) {
        let bytes = Array(text.utf8)
        var out: [UInt8] = []
        var (index, isWhole) = (0, true)
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            guard byte == UInt8(ascii: "%") else {
                out.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                continue
            }
            guard index + 1 < bytes.count, let high = value(bytes[index]), let low = value(bytes[index + 1]) else {
                out.append(byte)
                isWhole = false
                continue
            }
            out.append(high << 4 | low)
            index += 2
        }
        return (out, isWhole)
    }

    package static func isHex(_ byte: UInt8) -> Bool { value(byte) != nil }

    private static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    /// Returns whether a byte is `pchar` other than `%`, or `/` or `?` (RFC 3986 §3.3, §3.4).
    private static func isAllowed(_ byte: UInt8) -> Bool { isLetterOrDigit(byte) || allowedSymbols.contains(byte) }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    private static let allowedSymbols: Set<UInt8> = Set("-._~!$&'()*+,;=:@/?".utf8)
}
