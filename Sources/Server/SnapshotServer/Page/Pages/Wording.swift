import RemoteSettingsModel
import SnapshotBundle

/// Human-readable numbers and times.
enum Wording {
    /// Returns a number with thousands separators, such as 1,918.
    static func number(_ value: Int) -> String {
        var digits = Array(String(value.magnitude))
        for place in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: place) }
        return (value < 0 ? "−" : "") + String(digits)
    }

    static func count(_ value: Int, _ noun: String) -> String {
        "\(number(value)) \(Counted.noun(value, noun))"
    }

    static func size(_ bytes: Int) -> String { ByteSize.text(UInt64(clamping: bytes)) }

    /// Returns a time without seconds, in UTC.
    static func date(_ time: Timestamp) -> String {
        let text = time.rfc3339
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5))"
    }

    /// Returns the age of a time in its largest suitable unit, such as "3 days".
    static func age(of time: Timestamp, at now: Timestamp) -> String {
        let seconds = now.elapsed(since: time).components.seconds
        let units: [(Int64, String)] = [(31_557_600, "year"), (2_629_800, "month"), (86_400, "day"), (3600, "hour")]
        for (length, name) in units where seconds >= 2 * length { return "\(seconds / length) \(name)s" }
        if seconds >= 120 { return "\(seconds / 60) minutes" }
        return seconds >= 0 ? "just now" : "in the future"
    }

    /// Returns the age of a time as part of a sentence, such as "3 days ago".
    static func ago(_ time: Timestamp, at now: Timestamp) -> String {
        let age = age(of: time, at: now)
        return age.first?.isNumber == true ? age + " ago" : age
    }
}

extension HTMLWriter {
    mutating func time(_ time: Timestamp) {
        element(.time, .datetime(time.rfc3339), .class("nowrap"), text: Wording.date(time) + " UTC")
    }

    /// Writes the provenance of a snapshot in words, with a matching color.
    mutating func provenance(_ provenance: Provenance) {
        switch provenance {
        case .signed: element(.span, .class("verdict good"), text: "Verified")
        case .unsigned: element(.span, .class("verdict care"), text: "Unsigned")
        case .imported: element(.span, .class("verdict care"), text: "Imported, unsigned")
        }
    }

    /// Writes a collection's name, with its bucket less prominent.
    mutating func name(of id: CollectionID) {
        element(.span, .class("bucket"), text: id.bucket + "/")
        text(id.name)
    }
}
