import RemoteSettingsModel

/// The time of an event, with the random number for decisions about it.
package struct Moment: Sendable {
    /// The time since a fixed moment. It is never set.
    package let uptime: Duration
    /// The time of day.
    package let time: Timestamp
    /// From 0 up to 1.
    package let chance: Double

    package init(uptime: Duration, time: Timestamp, chance: Double) {
        self.uptime = uptime
        self.time = time
        self.chance = min(max(chance, 0), 1)
    }
}
