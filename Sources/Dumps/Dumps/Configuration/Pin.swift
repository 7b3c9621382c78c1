import RemoteSettingsModel

/// A pin: the setting in `dumps.yaml` that keeps a collection at a fixed state.
package struct Pin: Hashable, Sendable {
    /// The timestamp of the pinned state.
    package var at: Timestamp
    package var reason: String?
    /// The last day of the pin, as its first instant (midnight UTC).
    package var until: Timestamp?

    package init(at: Timestamp, reason: String? = nil, until: Timestamp? = nil) {
        self.at = at
        self.reason = reason
        self.until = until
    }

    /// Returns whether the pin's last day has passed in UTC.
    package func isOverdue(at now: Timestamp) -> Bool {
        until.map { Self.isOver($0, at: now) } ?? false
    }

    /// Returns whether a day has passed in UTC.
    static func isOver(_ day: Timestamp, at now: Timestamp) -> Bool { now >= day.advanced(by: .seconds(86_400)) }

    /// Returns the UTC date of a time, such as `2026-11-21`.
    package static func dateText(_ time: Timestamp) -> String { String(time.rfc3339.prefix(10)) }

    /// Returns midnight UTC of a date such as `2026-11-21`; `nil` for any other string.
    package static func date(_ text: String) -> Timestamp? {
        text.utf8.count == 10 ? Timestamp(rfc3339: text) : nil
    }

    /// Returns whether a string is valid as a reason: one line of 1 to 500 visible characters.
    package static func isReason(_ text: String) -> Bool {
        (1...500).contains(text.count) && VisibleText.escape(text).exact == text.exact
    }
}

extension Pin: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: ["at": at, "reason": reason, "until": until.map(Self.dateText)])
    }
}
