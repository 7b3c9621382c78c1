import RemoteSettingsModel

/// The clock and the random numbers of a client. Tests replace them.
package struct HTTPEnvironment: Sendable {
    /// The current date and time.
    package var now: @Sendable () -> Timestamp
    /// Waits. It throws if the task is cancelled during the wait.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// Waits between two attempts of a request; `nil` to use ``sleep``. Tests shorten these waits, but not time limits.
    package var pause: (@Sendable (Duration) async throws -> Void)?
    /// A random number from 0 up to, but not including, 1.
    package var random: @Sendable () -> Double
    /// The time since a fixed moment, for deadlines. Changing the system clock does not affect it, and it does not
    /// count the time that the machine sleeps.
    package var uptime: @Sendable () -> Duration

    /// Creates an environment.
    ///
    /// - Parameters:
    ///   - now: returns the current date and time.
    ///   - sleep: waits; throws if the task is cancelled.
    ///   - random: returns a number from 0 up to, but not including, 1.
    ///   - uptime: returns a time that never decreases. It may start at any value.
    package init(
        now: @escaping @Sendable () -> Timestamp,
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        random: @escaping @Sendable () -> Double,
        uptime: @escaping @Sendable () -> Duration = { HTTPEnvironment.start.duration(to: .now) }
    ) {
        self.now = now
        self.sleep = sleep
        self.random = random
        self.uptime = uptime
    }

    static let start = SuspendingClock.now

    /// The system's clock and random numbers.
    package static let system = HTTPEnvironment(
        now: {
            var time = timespec()
            unsafe clock_gettime(CLOCK_REALTIME, &time)
            // A time before 1970 is treated as the beginning of 1970.
            return Timestamp(milliseconds: UInt64(clamping: time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000)
        },
        sleep: { duration in try await WorkThreads.sleep(for: duration) },
        random: { Double.random(in: 0..<1) })
}

extension HTTPEnvironment {
    /// The current moment.
    package var moment: Moment { Moment(uptime: uptime(), time: now(), chance: random()) }
}
