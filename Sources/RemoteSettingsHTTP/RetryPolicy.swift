/// How long to wait before a request is repeated: exponential backoff with full jitter.
///
/// The wait before repetition *n* (from 1) is a random time up to `base` × 2ⁿ⁻¹, and never more than `longest`.
public struct RetryPolicy: Sendable, Hashable {
    public var base: Duration
    public var longest: Duration

    public init(base: Duration = .milliseconds(500), longest: Duration = .seconds(10)) {
        self.base = base
        self.longest = longest
    }

    /// - Parameters:
    ///   - repetition: from 1.
    ///   - random: from 0 up to 1.
    func pause(before repetition: Int, random: Double) -> Duration {
        var ceiling = min(base, longest)
        for _ in 1..<max(1, min(repetition, 64)) { ceiling = min(ceiling * 2, longest) }
        return ceiling * min(max(random, 0), 1)
    }
}
