import RemoteSettingsModel

/// The time of an event, with a random number for decisions that depend on chance.
package struct Moment: Sendable {
    /// The time since a fixed moment. Changing the system clock does not affect it.
    package let uptime: Duration
    /// The date and time by the system clock.
    package let time: Timestamp
    /// A random number from 0 to 1.
    package let chance: Double

    package init(uptime: Duration, time: Timestamp, chance: Double) {
        self.uptime = uptime
        self.time = time
        self.chance = min(max(chance, 0), 1)
    }
}
