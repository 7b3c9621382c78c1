/// Exponential backoff: the pauses after failures. Each further failure doubles the pause, up to the longest one.
///
/// A random factor spreads the pauses, so that not all clients reconnect at the same moment.
package struct RetryPauses: Hashable, Sendable {
    /// The full pause after the first failure.
    package var first: Duration
    /// The longest full pause.
    package var longest: Duration
    /// The factor that the full pause is multiplied by: the lower bound at chance 0, the upper bound at chance 1.
    package var spread: ClosedRange<Double>

    package init(first: Duration, longest: Duration, spread: ClosedRange<Double> = 0...1) {
        self.first = first
        self.longest = longest
        self.spread = spread
    }

    /// Returns the pause after a number of failures.
    ///
    /// - Parameters:
    ///   - failures: the number of consecutive failures, at least 1.
    ///   - random: a random number from 0 to 1.
    package func pause(after failures: Int, random: Double) -> Duration {
        var full = min(first, longest)
        for _ in 1..<max(1, min(failures, 64)) where full < longest { full = min(full * 2, longest) }
        return full * (spread.lowerBound + (spread.upperBound - spread.lowerBound) * min(max(random, 0), 1))
    }
}
