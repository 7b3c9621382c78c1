import RemoteSettingsModel

/// The time of an event, with a random number for decisions about it.
package struct Moment: Sendable {
    /// The time since a fixed moment. Nobody can set it.
    package let uptime: Duration
    /// The date and time.
    package let time: Timestamp
    /// A random number from 0 up to 1.
    package let chance: Double

    package init(uptime: Duration, time: Timestamp, chance: Double) {
        self.uptime = uptime
        self.time = time
        self.chance = min(max(chance, 0), 1)
    }
}
