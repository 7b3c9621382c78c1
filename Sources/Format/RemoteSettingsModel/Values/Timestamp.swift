/// A time in milliseconds since 1970-01-01T00:00:00Z: the last change of a collection or record, or a time from a
/// caller.
///
/// The protocol calls it `timestamp` or `last_modified`. A collection's timestamp is the `timestamp` of its changeset,
/// and never the highest `last_modified` of its records.
public struct Timestamp: Hashable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z, like the server's `last_modified`.
    public let milliseconds: UInt64

    /// Creates a timestamp.
    ///
    /// - Parameter milliseconds: the milliseconds since 1970-01-01T00:00:00Z.
    public init(milliseconds: UInt64) {
        self.milliseconds = milliseconds
    }

    /// Parses decimal milliseconds in the protocol's notation; `nil` for anything else.
    package init?(_ text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 48 && $0 <= 57 }), let value = UInt64(text) else {
            return nil
        }
        milliseconds = value
    }

    /// The whole seconds since 1970, rounded down.
    package var seconds: UInt64 { milliseconds / 1000 }

    /// Returns the time since `earlier`; zero if `earlier` is later.
    public func elapsed(since earlier: Timestamp) -> Duration {
        .milliseconds(milliseconds < earlier.milliseconds ? 0 : milliseconds &- earlier.milliseconds)
    }

    /// Returns the time `duration` later, or earlier if `duration` is negative, limited to the range of possible times.
    public func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        let delta = seconds.magnitude.saturatingMultiplying(by: 1000)
            .saturatingAdding(attoseconds.magnitude / 1_000_000_000_000_000)
        if duration < .zero { return Timestamp(milliseconds: milliseconds - min(milliseconds, delta)) }
        return Timestamp(milliseconds: milliseconds.saturatingAdding(delta))
    }
}

extension Duration {
    /// The duration in milliseconds, rounded towards zero and limited to the range of the type.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds.saturatingMultiplying(by: 1000).saturatingAdding(attoseconds / 1_000_000_000_000_000)
    }
}

extension Timestamp: InstantProtocol {
    /// Returns the time until `later`; negative if `later` is earlier.
    public func duration(to later: Timestamp) -> Duration { later.elapsed(since: self) - elapsed(since: later) }
}

extension Timestamp: Comparable {
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }
}

extension Timestamp: CustomStringConvertible {
    public var description: String { String(milliseconds) }
}

extension Timestamp {
    /// The time in RFC 3339 format, in UTC with milliseconds: `2026-11-21T08:48:13.000Z`. It does not depend on the
    /// locale or time zone.
    ///
    /// RFC 3339 covers years up to 9999. A later year has more digits, and ``init(rfc3339:)`` accepts these too.
    public var rfc3339: String {
        let (year, month, day) = Timestamp.civil(daysSince1970: Int(clamping: milliseconds / 86_400_000))
        let rest = milliseconds % 86_400_000
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
            + "T\(padded(Int(rest / 3_600_000), 2)):\(padded(Int(rest / 60_000 % 60), 2))"
            + ":\(padded(Int(rest / 1000 % 60), 2)).\(padded(Int(rest % 1000), 3))Z"
    }

    /// Parses the format of ``rfc3339``, or a date without a time (`2026-11-21`, midnight UTC); `nil` for anything
    /// else.
    public init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        func number(_ range: Range<Int>) -> Int? {
            guard range.upperBound <= bytes.count else { return nil }
            return bytes[range].allSatisfy { $0 >= 48 && $0 <= 57 }
                ? Int(String(decoding: bytes[range], as: UTF8.self)) : nil
        }
        // Years of up to nine digits are sufficient for all times that fit into 64 bits of milliseconds.
        guard let end = bytes.firstIndex(of: 0x2D), (4...9).contains(end), end == 4 || bytes[0] != 48,
            bytes.count >= end + 6, bytes[end + 3] == 0x2D,
            let year = number(0..<end), let month = number(end + 1..<end + 3), let day = number(end + 4..<end + 6),
            year >= 1970, (1...12).contains(month), (1...31).contains(day)
        else { return nil }
        let days = Timestamp.daysSince1970(year: year, month: month, day: day)
        guard Timestamp.civil(daysSince1970: days) == (year, month, day) else { return nil }
        let midnight = UInt64(days).multipliedReportingOverflow(by: 86_400_000)
        var sinceMidnight = 0
        let clock = end + 7
        if bytes.count > end + 6 {
            guard bytes.count == clock + 9 || (bytes.count == clock + 13 && bytes[clock + 8] == 0x2E),
                bytes[clock - 1] == 0x54, bytes[clock + 2] == 0x3A, bytes[clock + 5] == 0x3A,
                bytes[bytes.count - 1] == 0x5A, let hour = number(clock..<clock + 2),
                let minute = number(clock + 3..<clock + 5), let second = number(clock + 6..<clock + 8),
                hour < 24, minute < 60, second < 60
            else { return nil }
            guard let fraction = bytes.count == clock + 13 ? number(clock + 9..<clock + 12) : 0 else { return nil }
            sinceMidnight = ((hour * 60 + minute) * 60 + second) * 1000 + fraction
        }
        let total = midnight.partialValue.addingReportingOverflow(UInt64(sinceMidnight))
        guard !midnight.overflow, !total.overflow else { return nil }
        milliseconds = total.partialValue
    }

    /// Returns the Gregorian date of a day, computed with Howard Hinnant's `civil_from_days` ("chrono-Compatible
    /// Low-Level Date Algorithms").
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

extension Timestamp: Codable {
    /// Decodes ``milliseconds``.
    public init(from decoder: any Decoder) throws { self.init(milliseconds: try UInt64(from: decoder)) }

    /// Encodes ``milliseconds``.
    public func encode(to encoder: any Encoder) throws { try milliseconds.encode(to: encoder) }
}

private func padded(_ value: Int, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
