/// Text in paths and in the queries that forms send (application/x-www-form-urlencoded, WHATWG URL §5).
enum FormText {
    /// Encodes everything but RFC 3986's unreserved characters.
    static func encode(_ text: String) -> String {
        var out: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                out.append(byte)
            default:
                let digits = Array("0123456789ABCDEF".utf8)
                out.append(contentsOf: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]])
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// - Parameter plusIsSpace: as in a form's query, not in a path.
    /// - Returns: `nil` where a `%` is not followed by two hexadecimal digits, or where the bytes are not UTF-8.
    static func decode(_ text: some StringProtocol, plusIsSpace: Bool) -> String? {
        var out: [UInt8] = []
        var bytes = text.utf8.makeIterator()
        while let byte = bytes.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = bytes.next().flatMap(value), let low = bytes.next().flatMap(value) else { return nil }
                out.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: out.append(UInt8(ascii: " "))
            default: out.append(byte)
            }
        }
        return String(validating: out, as: UTF8.self)
    }

    /// The value of the first parameter of that name.
    static func parameter(_ name: String, of query: String) -> String? {
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if pair[0] == name { return decode(pair.count == 2 ? pair[1] : "", plusIsSpace: true) }
        }
        return nil
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        Character(UnicodeScalar(digit)).hexDigitValue.map(UInt8.init)
    }
}
