/// How long something took, over several runs.
struct Measurement {
    /// Sorted.
    private let times: [Duration]

    /// Runs `work` once to warm up, then `runs` times.
    init<Result>(runs: Int, _ work: () throws -> Result) rethrows {
        let clock = ContinuousClock()
        _ = try work()
        var times: [Duration] = []
        for _ in 0..<runs {
            let start = clock.now
            // The result is freed outside of the measured time.
            let result = try work()
            times.append(clock.now - start)
            withExtendedLifetime(result) {}
        }
        self.times = times.sorted()
    }

    var least: Duration { times[0] }
    var median: Duration { times[times.count / 2] }
}

extension Duration {
    var milliseconds: Double { self / .milliseconds(1) }
}
