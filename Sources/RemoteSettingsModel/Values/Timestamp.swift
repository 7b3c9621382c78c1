/// Milliseconds since 1970-01-01T00:00:00Z: a collection's or record's last change, or a time of day passed in.
///
/// The protocol calls it `timestamp` or `last_modified`. A collection's timestamp is the changeset's `timestamp`, never
/// the highest `last_modified` of its records.
public struct Timestamp: Hashable, Sendable {
    public let milliseconds: UInt64

    public init(milliseconds: UInt64) {
        self.milliseconds = milliseconds
    }

    /// Reads decimal milliseconds, as the protocol writes them; `nil` for anything else.
    public init?(_ text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }), let value = UInt64(text) else {
            return nil
        }
        milliseconds = value
    }

    /// Whole seconds since 1970, rounded down.
    public var seconds: UInt64 { milliseconds / 1000 }

    /// The time that has passed since `earlier`; zero where `earlier` is later.
    public func elapsed(since earlier: Timestamp) -> Duration {
        milliseconds > earlier.milliseconds ? .milliseconds(milliseconds - earlier.milliseconds) : .zero
    }

    public func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        let delta = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        return Timestamp(milliseconds: UInt64(clamping: Int64(clamping: milliseconds) + delta))
    }
}

extension Timestamp: Comparable {
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }
}

extension Timestamp: CustomStringConvertible {
    public var description: String { String(milliseconds) }
}

extension Timestamp {
    /// RFC 3339 in UTC with milliseconds: `2026-11-21T08:48:13.000Z`. Independent of locale and time zone.
    public var rfc3339: String {
        let (year, month, day) = Timestamp.civil(daysSince1970: Int(clamping: milliseconds / 86_400_000))
        let rest = milliseconds % 86_400_000
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
            + "T\(padded(Int(rest / 3_600_000), 2)):\(padded(Int(rest / 60_000 % 60), 2))"
            + ":\(padded(Int(rest / 1000 % 60), 2)).\(padded(Int(rest % 1000), 3))Z"
    }

    /// Reads what ``rfc3339`` writes, or a bare date (`2026-11-21`, midnight UTC); `nil` for anything else.
    public init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        func number(_ range: Range<Int>) -> Int? {
            guard range.upperBound <= bytes.count else { return nil }
            return bytes[range].allSatisfy { $0 >= 48 && $0 <= 57 }
                ? Int(String(decoding: bytes[range], as: UTF8.self)) : nil
        }
        guard bytes.count >= 10, bytes[4] == 0x2D, bytes[7] == 0x2D,
            let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            year >= 1970, (1...12).contains(month), (1...31).contains(day)
        else { return nil }
        let days = Timestamp.daysSince1970(year: year, month: month, day: day)
        guard Timestamp.civil(daysSince1970: days) == (year, month, day) else { return nil }
        var total = UInt64(days) * 86_400_000
        if bytes.count > 10 {
            guard bytes.count == 20 || (bytes.count == 24 && bytes[19] == 0x2E), bytes[10] == 0x54, bytes[13] == 0x3A,
                bytes[16] == 0x3A, bytes[bytes.count - 1] == 0x5A,
                let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
                hour < 24, minute < 60, second < 60
            else { return nil }
            guard let fraction = bytes.count == 24 ? number(20..<23) : 0 else { return nil }
            total += UInt64(((hour * 60 + minute) * 60 + second) * 1000 + fraction)
        }
        milliseconds = total
    }

    /// The Gregorian date of a day, by Howard Hinnant's `civil_from_days` ("chrono-Compatible Low-Level Date Algorithms").
    package static func civil(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    package static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

private func padded(_ value: Int, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
