import RemoteSettingsModel

/// The state of a collection to pin.
package enum PinRequest: Hashable, Sendable, CustomStringConvertible {
    /// The current state, or the only state at the given path.
    case present
    /// The state with exactly this timestamp.
    case at(Timestamp)
    /// The newest state whose timestamp is not later than this time.
    case asOf(Timestamp)
    /// The state at a commit, given as a tag, a branch or any other name that git resolves.
    case revision(String)

    /// Parses a timestamp in milliseconds, a time in UTC, or a date, which means the last instant of that day in UTC.
    /// Any other string is the name of a commit; returns `nil` if it cannot be one. A number such as
    /// 2020 is a year without a day, and not a timestamp.
    package init?(_ text: String) {
        let years: ClosedRange<UInt64> = 1970...2999
        if text.utf8.count <= 18, let time = Timestamp(text), time.milliseconds > 0, !years.contains(time.milliseconds)
        {
            self = .at(time)
        } else if let day = Pin.date(text) {
            self = .asOf(day.advanced(by: .milliseconds(86_399_999)))
        } else if let time = Timestamp(rfc3339: text) {
            self = .asOf(time)
        } else if let first = text.utf8.first, first > 0x20, first != UInt8(ascii: "-"), text != "0" {
            self = .revision(text)
        } else {
            return nil
        }
    }

    func includes(_ timestamp: Timestamp) -> Bool {
        switch self {
        case .present, .revision: true
        case .at(let wanted): timestamp == wanted
        case .asOf(let time): timestamp <= time
        }
    }

    /// The latest acceptable timestamp; `nil` if any is acceptable.
    package var latest: Timestamp? {
        switch self {
        case .at(let time), .asOf(let time): time
        case .present, .revision: nil
        }
    }

    package var description: String {
        switch self {
        case .present: "of this collection"
        case .at(let timestamp): "at \(timestamp) (\(timestamp.rfc3339))"
        case .asOf(let time): "from \(time.rfc3339) or before"
        case .revision(let name): "in the commit \(name)"
        }
    }
}

/// A comparison of a pinned collection with the server's state and with the pin's last day.
package struct PinState: Hashable, Sendable {
    package let pin: Pin
    /// The server's timestamp; `nil` if the server was not queried, or does not list the collection.
    package let serverTimestamp: Timestamp?
    package let isOverdue: Bool

    /// Whether the server has a newer state, as far as it was queried.
    package var isSuperseded: Bool { serverTimestamp.map { $0 > pin.at } ?? false }

    /// Whether the pin is at the server's state, as far as it was queried.
    package var isCurrent: Bool { serverTimestamp == pin.at }

    init(_ pin: Pin, serverTimestamp: Timestamp?, now: Timestamp) {
        self.pin = pin
        self.serverTimestamp = serverTimestamp
        isOverdue = pin.isOverdue(at: now)
    }
}

extension PinState: Encodable {
    package func encode(to encoder: any Encoder) throws {
        let behind = serverTimestamp.map { Int64(clamping: $0.milliseconds) - Int64(clamping: pin.at.milliseconds) }
        try pin.encode(to: encoder)
        try encoder.encode(members: [
            "overdue": isOverdue, "serverTimestamp": serverTimestamp, "behindMilliseconds": behind,
            "behindDays": behind.map { $0 / 86_400_000 },
        ])
    }
}
