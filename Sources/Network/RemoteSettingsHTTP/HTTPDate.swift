import RemoteSettingsModel

/// Parses and formats dates in headers. It accepts the three formats that a recipient must accept (RFC 9110 §5.6.7).
package enum HTTPDate {
    /// Parses a date.
    ///
    /// - Parameter now: the current time, which decides the century of the obsolete format with a two-digit year.
    /// - Returns: `nil` unless the text is a valid date in 1970 or later. The weekday is not compared with the date.
    package static func parse(_ text: String, now: Timestamp) -> Timestamp? {
        let words = text.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
        switch words.count {
        // Sun, 06 Nov 1994 08:49:37 GMT
        case 6 where words[5] == "GMT" && words[0].hasSuffix(",") && isDay(words[0].dropLast()):
            return time(
                year: number(words[3], digits: 4), month: month(words[2]), day: number(words[1], digits: 2),
                clock: words[4])
        // Sunday, 06-Nov-94 08:49:37 GMT
        case 4 where words[3] == "GMT" && words[0].hasSuffix(",") && isLongDay(words[0].dropLast()):
            let date = words[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
            guard date.count == 3, let short = number(date[2], digits: 2) else { return nil }
            return time(
                year: fullYear(short, now: now), month: month(date[1]), day: number(date[0], digits: 2),
                clock: words[2])
        // Sun Nov  6 08:49:37 1994
        case 5 where isDay(words[0][...]):
            return time(
                year: number(words[4], digits: 4), month: month(words[1]),
                day: number(words[2], digits: words[2].utf8.count == 1 ? 1 : 2), clock: words[3])
        default:
            return nil
        }
    }

    /// Returns the time in the format that senders must use: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func text(_ time: Timestamp) -> String {
        let day = Int(clamping: time.milliseconds / 86_400_000)
        let (year, month, dayOfMonth) = Timestamp.civil(daysSince1970: day)
        let second = Int(time.milliseconds % 86_400_000) / 1000
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        // 1970-01-01 was a Thursday.
        return "\(days[(day + 3) % 7]), \(two(dayOfMonth)) \(months[month - 1]) \(year) "
            + "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60)) GMT"
    }

    private static let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let longDays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func isDay(_ text: Substring) -> Bool { days.contains(String(text)) }

    private static func isLongDay(_ text: Substring) -> Bool { longDays.contains(String(text)) }

    private static func month(_ text: String) -> Int? { months.firstIndex(of: text).map { $0 + 1 } }

    private static func number(_ text: String, digits: Int) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }

    /// Returns the full year. A year that would be more than 50 years in the future is moved to the previous century.
    private static func fullYear(_ short: Int, now: Timestamp) -> Int {
        let thisYear = Timestamp.civil(daysSince1970: Int(clamping: now.milliseconds / 86_400_000)).year
        let year = thisYear - thisYear % 100 + short
        return year > thisYear + 50 ? year - 100 : year
    }

    private static func time(year: Int?, month: Int?, day: Int?, clock: String) -> Timestamp? {
        guard let year, let month, let day, (1970...9999).contains(year), (1...31).contains(day) else { return nil }
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false).map { number(String($0), digits: 2) }
        guard parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2], hour < 24,
            minute < 60, second <= 60
        else { return nil }
        let dayNumber = Timestamp.daysSince1970(year: year, month: month, day: day)
        guard Timestamp.civil(daysSince1970: dayNumber) == (year, month, day) else { return nil }
        let seconds = dayNumber * 86_400 + hour * 3600 + minute * 60 + second
        return Timestamp(milliseconds: UInt64(seconds) * 1000)
    }
}
