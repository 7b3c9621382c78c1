/// Formats numbers like JavaScript (ECMA-262, Number::toString with radix 10).
enum NumberText {
    static func text(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
        if value == 0 { return "0" }
        let sign = value < 0 ? "-" : ""
        let (digits, point) = shortest(value.magnitude)
        let count = digits.count
        if point > 0 && point <= 21 {
            if count <= point { return sign + digits + String(repeating: "0", count: point - count) }
            return sign + digits.prefix(point) + "." + digits.dropFirst(point)
        }
        if point <= 0 && point > -6 { return sign + "0." + String(repeating: "0", count: -point) + digits }
        let exponent = point - 1
        let fraction = count > 1 ? "." + digits.dropFirst() : ""
        return sign + digits.prefix(1) + fraction + "e" + (exponent < 0 ? "-" : "+") + String(abs(exponent))
    }

    /// Returns the fewest digits that identify the double, and the position of the decimal point: 0.digits × 10^point.
    private static func shortest(_ value: Double) -> (digits: String, point: Int) {
        let parts = value.description.split(separator: "e")
        let mantissa = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        let fraction = mantissa.count > 1 ? mantissa[1] : ""
        var point = mantissa[0].utf8.count + (parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
        var digits = mantissa[0] + fraction
        while digits.utf8.first == UInt8(ascii: "0") {
            digits.removeFirst()
            point -= 1
        }
        while digits.utf8.last == UInt8(ascii: "0") { digits.removeLast() }
        return (String(digits), point)
    }
}
