import RemoteSettingsModel

/// Parses dates in the format of JavaScript's `Date` (ECMA-262, section 21.4.1.32).
///
/// The formats are `YYYY`, `YYYY-MM` and `YYYY-MM-DD`. `THH:mm`, `THH:mm:ss` or `THH:mm:ss.sss` may follow, and then
/// `Z` or `±HH:mm`. A time without an offset is UTC, because a filter has no time zone; in Gecko it is local time.
enum DateText {
    /// Returns the milliseconds since 1970-01-01T00:00:00Z; `nil` for any other text.
    static func milliseconds(_ text: String) -> Double? {
        var reader = Reader(bytes: Array(text.utf8))
        guard let year = reader.number(4) else { return nil }
        var month = 1
        var day = 1
        if reader.take("-") {
            guard let value = reader.number(2) else { return nil }
            month = value
            if reader.take("-") {
                guard let value = reader.number(2) else { return nil }
                day = value
            }
        }
        guard (1...12).contains(month), (1...31).contains(day) else { return nil }
        // Add whole cycles of 400 years, because the calculation works only for years from 1970 on.
        let cycles = year < 2000 ? 5 : 0
        let days = Timestamp.daysSince1970(year: year + cycles * 400, month: month, day: day)
        guard Timestamp.civil(daysSince1970: days) == (year + cycles * 400, month, day) else { return nil }
        let midnight = Double(days - cycles * 146_097) * 86_400_000
        guard reader.take("T") else { return reader.isAtEnd ? midnight : nil }
        guard let time = reader.time(), let offset = reader.offset(), reader.isAtEnd else { return nil }
        return midnight + time - offset
    }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        var isAtEnd: Bool { position == bytes.count }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        mutating func number(_ width: Int) -> Int? {
            guard position + width <= bytes.count else { return nil }
            var value = 0
            for byte in bytes[position..<position + width] {
                guard byte &- UInt8(ascii: "0") < 10 else { return nil }
                value = value * 10 + Int(byte - UInt8(ascii: "0"))
            }
            position += width
            return value
        }

        /// Reads the milliseconds since midnight. 24:00 is the end of the day.
        mutating func time() -> Double? {
            guard let hour = number(2), take(":"), let minute = number(2), hour <= 24, minute < 60 else { return nil }
            var milliseconds = Double(hour * 60 + minute) * 60_000
            if take(":") {
                guard let second = number(2), second < 60 else { return nil }
                milliseconds += Double(second) * 1000
                if take(".") {
                    var unit = 100.0
                    guard let first = number(1) else { return nil }
                    milliseconds += Double(first) * unit
                    while let digit = number(1) {
                        unit /= 10
                        if unit >= 1 { milliseconds += Double(digit) * unit }
                    }
                }
            }
            return milliseconds <= 86_400_000 ? milliseconds : nil
        }

        /// Reads the UTC offset in milliseconds, positive if local time is ahead of UTC.
        mutating func offset() -> Double? {
            if isAtEnd || take("Z") { return 0 }
            let sign = take("+") ? 1.0 : take("-") ? -1.0 : 0
            guard sign != 0, let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60 else {
                return nil
            }
            return sign * Double(hours * 60 + minutes) * 60_000
        }
    }
}
