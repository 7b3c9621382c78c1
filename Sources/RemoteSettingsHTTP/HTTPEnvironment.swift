import RemoteSettingsModel

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The clock and the random numbers of a client, which tests replace.
public struct HTTPEnvironment: Sendable {
    /// The time of day.
    public var now: @Sendable () -> Timestamp
    /// Waits; throws where the task is cancelled meanwhile.
    public var sleep: @Sendable (Duration) async throws -> Void
    /// A random number from 0 up to, but not including, 1.
    public var random: @Sendable () -> Double

    public init(
        now: @escaping @Sendable () -> Timestamp,
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        random: @escaping @Sendable () -> Double
    ) {
        self.now = now
        self.sleep = sleep
        self.random = random
    }

    /// The system's clock and random numbers.
    public static let system = HTTPEnvironment(
        now: {
            var time = timespec()
            unsafe clock_gettime(CLOCK_REALTIME, &time)
            return Timestamp(milliseconds: UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000)
        },
        sleep: { duration in try await Task.sleep(for: duration) },
        random: { Double.random(in: 0..<1) })
}
