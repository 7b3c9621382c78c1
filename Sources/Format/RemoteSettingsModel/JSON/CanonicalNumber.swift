/// The canonical forms of numbers that cannot be copied unchanged.
enum CanonicalNumber {
    /// Returns an integer in -2^63…2^64-1, with `-0` as `0`; `nil` outside this range.
    static func integer(_ text: String) -> String? {
        if text.hasPrefix("-") { return Int64(text).map { String($0) } }
        return UInt64(text).map { String($0) }
    }

    /// Returns the shortest digits that give the same double, as `d.dddE±n`; `nil` if a double cannot represent the
    /// number.
    static func double(_ text: String) -> String? {
        guard let value = Double(text), value.isFinite else { return nil }
        let sign = value.sign == .minus ? "-" : ""
        if value == 0 { return sign + "0E0" }
        // The standard library also prints the shortest digits, but may put the decimal point in another position.
        let parts = value.magnitude.description.split(separator: "e")
        let mantissa = parts[0].split(separator: ".")
        let whole = mantissa[0] == "0" ? "" : String(mantissa[0])
        let fraction = mantissa.count > 1 && mantissa[1] != "0" ? String(mantissa[1]) : ""
        var digits = Substring(whole + fraction)
        var exponent = (parts.count > 1 ? Int(parts[1]) ?? 0 : 0) + whole.count - 1
        while digits.first == "0" {
            digits.removeFirst()
            exponent -= 1
        }
        while digits.last == "0" { digits.removeLast() }
        let head = digits.prefix(1)
        let rest = digits.dropFirst()
        return sign + head + (rest.isEmpty ? "" : ".") + rest + "E\(exponent)"
    }
}
