import RemoteSettingsModel

/// When clocks change, year after year: the `TZ` string of POSIX (section 8.3), with the extensions of RFC 9636,
/// section 3.3.1.
struct TimeZoneRule: Sendable {
    private let standard: Int64
    /// Summer time and its two days; `nil` if clocks do not change.
    private var summer: (offset: Int64, begin: Change, end: Change)?

    /// - Parameter text: for example `CET-1CEST,M3.5.0,M10.5.0/3`.
    /// - Returns: `nil` if the text is not such a rule.
    init?(_ text: String) {
        var parser = Parser(rest: Substring(text))
        guard parser.name(), let standard = parser.offset() else { return nil }
        self.standard = -standard
        guard !parser.rest.isEmpty else { return }
        guard parser.name() else { return nil }
        var offset = self.standard + 3600
        if parser.rest.first != "," {
            guard let given = parser.offset() else { return nil }
            offset = -given
        }
        guard let begin = parser.change(), let end = parser.change(), parser.rest.isEmpty else { return nil }
        summer = (offset, begin, end)
    }

    /// The offset from UTC at a moment, in seconds; east is positive.
    func offset(at moment: Int64) -> Int64 {
        guard let summer else { return standard }
        let year = Self.year(of: moment + standard)
        let begin = summer.begin.time(in: year) - standard
        let end = summer.end.time(in: year) - summer.offset
        let isSummer = begin < end ? (begin..<end).contains(moment) : !(end..<begin).contains(moment)
        return isSummer ? summer.offset : standard
    }

    /// A day of each year, and the time of that day.
    private struct Change: Sendable {
        enum Day: Sendable {
            /// The week from 1 to 5, the last one, of a month; the day from 0 for Sunday.
            case week(month: Int, week: Int, day: Int)
            /// From 1 to 365, without 29 February.
            case julian(Int)
            /// From 0 to 365, with 29 February.
            case zeroBased(Int)
        }

        let day: Day
        /// Seconds after midnight, by the clocks before the change.
        let seconds: Int64

        /// The time that clocks show at the change, as if it were UTC, in seconds since 1970.
        func time(in year: Int64) -> Int64 {
            let newYear = TimeZoneRule.days(before: year, month: 1)
            let date: Int64 =
                switch day {
                case .zeroBased(let day): newYear + Int64(day)
                case .julian(let day):
                    newYear + Int64(day) - 1 + (day >= 60 && TimeZoneRule.isLeap(year) ? 1 : 0)
                case .week(let month, let week, let day):
                    Self.date(of: day, week: week, month: month, year: year)
                }
            return date * 86_400 + seconds
        }

        private static func date(of day: Int, week: Int, month: Int, year: Int64) -> Int64 {
            let begin = TimeZoneRule.days(before: year, month: month)
            let (nextYear, next) = month == 12 ? (year + 1, 1) : (year, month + 1)
            let end = TimeZoneRule.days(before: nextYear, month: next)
            // 1 January 1970 was a Thursday, the fourth day.
            let weekday = ((begin + 4) % 7 + 7) % 7
            let first = begin + (Int64(day) - weekday + 7) % 7
            var date = first + Int64(week - 1) * 7
            while date >= end { date -= 7 }
            return date
        }
    }

    static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    /// The days from 1 January 1970 to the first day of a month, by the Gregorian calendar.
    static func days(before year: Int64, month: Int) -> Int64 {
        let past = year - 1
        let leapDays = past / 4 - past / 100 + past / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400)
        let inYear = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334][month - 1]
        return (year - 1970) * 365 + leapDays + Int64(inYear) + (month > 2 && isLeap(year) ? 1 : 0)
    }

    /// The year of a moment, from 1 to 9999: rules are not asked about others.
    private static func year(of seconds: Int64) -> Int64 {
        let day = seconds / 86_400
        var year = max(1, min(9999, 1970 + day / 366))
        while year < 9999, days(before: year + 1, month: 1) <= day { year += 1 }
        while year > 1, days(before: year, month: 1) > day { year -= 1 }
        return year
    }
}

extension TimeZoneRule {
    private struct Parser {
        var rest: Substring

        /// Three or more letters; or letters, digits and signs between `<` and `>`.
        mutating func name() -> Bool {
            if rest.first == "<" {
                guard let end = rest.firstIndex(of: ">") else { return false }
                rest = rest[rest.index(after: end)...]
                return true
            }
            let letters = rest.prefix { ("a"..."z").contains($0) || ("A"..."Z").contains($0) }
            rest = rest[letters.endIndex...]
            return letters.count >= 3
        }

        /// `[+-]hh[:mm[:ss]]` in seconds, with up to 167 hours.
        mutating func offset() -> Int64? {
            let isNegative = rest.first == "-"
            if isNegative || rest.first == "+" { rest = rest.dropFirst() }
            guard let hours = number(most: 167) else { return nil }
            var seconds = Int64(hours) * 3600
            for unit: Int64 in [60, 1] where take(":") {
                guard let part = number(most: 59) else { return nil }
                seconds += Int64(part) * unit
            }
            return isNegative ? -seconds : seconds
        }

        /// `,date[/time]`; the time is 2 o'clock if there is none.
        mutating func change() -> Change? {
            guard take(",") else { return nil }
            let day: Change.Day
            if take("M") {
                guard let month = number(most: 12), month > 0, take("."), let week = number(most: 5), week > 0,
                    take("."),
                    let weekday = number(most: 6)
                else { return nil }
                day = .week(month: month, week: week, day: weekday)
            } else if take("J") {
                guard let number = number(most: 365), number > 0 else { return nil }
                day = .julian(number)
            } else {
                guard let number = number(most: 365) else { return nil }
                day = .zeroBased(number)
            }
            guard take("/") else { return Change(day: day, seconds: 7200) }
            guard let seconds = offset() else { return nil }
            return Change(day: day, seconds: seconds)
        }

        private mutating func take(_ character: Character) -> Bool {
            guard rest.first == character else { return false }
            rest = rest.dropFirst()
            return true
        }

        private mutating func number(most: Int) -> Int? {
            let digits = rest.prefix { ("0"..."9").contains($0) }
            guard (1...3).contains(digits.utf8.count), let number = Int(digits), number <= most else { return nil }
            rest = rest[digits.endIndex...]
            return number
        }
    }
}
