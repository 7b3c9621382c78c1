/// The pauses after failures. Each further failure doubles the pause, up to the longest one.
///
/// A random part spreads the pauses, so that clients do not all come back at the same moment.
package struct RetryPauses: Hashable, Sendable {
    /// The full pause after the first failure.
    package var first: Duration
    /// The longest full pause.
    package var longest: Duration
    /// The part of the full pause that is used: the lower bound at chance 0, the upper one at chance 1.
    package var spread: ClosedRange<Double>

    package init(first: Duration, longest: Duration, spread: ClosedRange<Double> = 0...1) {
        self.first = first
        self.longest = longest
        self.spread = spread
    }

    /// Chooses a pause.
    ///
    /// - Parameters:
    ///   - failures: the number of failures in a row, from 1.
    ///   - random: a number from 0 up to 1.
    package func pause(after failures: Int, random: Double) -> Duration {
        var full = min(first, longest)
        for _ in 1..<max(1, min(failures, 64)) where full < longest { full = min(full * 2, longest) }
        return full * (spread.lowerBound + (spread.upperBound - spread.lowerBound) * min(max(random, 0), 1))
    }
}
