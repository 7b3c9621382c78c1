/// Percent-encoding of paths and queries (RFC 3986 §2.1).
package enum PercentEncoding {
    /// Encodes the bytes that may not stand in a path or query, and leaves what is encoded already as it is; `nil`
    /// where a `%` is not followed by two hexadecimal digits.
    package static func complete(_ text: some StringProtocol) -> String? {
        let bytes = Array(text.utf8)
        if bytes.allSatisfy({ isAllowed($0) }) { return String(text) }
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count + 16)
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "%") {
                guard index + 2 < bytes.count, isHex(bytes[index + 1]), isHex(bytes[index + 2]) else { return nil }
                out.append(byte)
            } else if isAllowed(byte) {
                out.append(byte)
            } else {
                out.append(contentsOf: [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)])
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Encodes everything but RFC 3986's unreserved characters: for one segment of a path, or one value of a query.
    package static func encode(_ text: String) -> String {
        var out: [UInt8] = []
        for byte in text.utf8 {
            if isLetterOrDigit(byte) || unreservedSymbols.contains(byte) {
                out.append(byte)
            } else {
                out.append(contentsOf: [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)])
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// The text behind the encoding; what is not UTF-8 becomes U+FFFD, a `%` without digits stays.
    package static func decode(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
        return String(decoding: bytes(text, isStrict: false) ?? [], as: UTF8.self)
    }

    /// The bytes behind the encoding; `nil` where a `%` is not followed by two hexadecimal digits.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? { bytes(text, isStrict: true) }

    private static func bytes(_ text: some StringProtocol, isStrict: Bool) -> [UInt8]? {
        let bytes = Array(text.utf8)
        var out: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] != UInt8(ascii: "%") {
                out.append(bytes[index])
                index += 1
            } else if index + 2 < bytes.count, let high = value(bytes[index + 1]), let low = value(bytes[index + 2]) {
                out.append(high << 4 | low)
                index += 3
            } else if isStrict {
                return nil
            } else {
                out.append(bytes[index])
                index += 1
            }
        }
        return out
    }

    static func isHex(_ byte: UInt8) -> Bool { value(byte) != nil }

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

    /// `pchar`, `/` and `?`, without `%` (RFC 3986 §3.3, §3.4).
    private static func isAllowed(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || allowedSymbols.contains(byte)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    private static let unreservedSymbols: Set<UInt8> = Set("-._~".utf8)
    private static let allowedSymbols: Set<UInt8> = Set("-._~!$&'()*+,;=:@/?".utf8)
}
