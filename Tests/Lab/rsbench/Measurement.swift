#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// How long something took, over several runs.
struct Measurement {
    /// Sorted.
    private let times: [Duration]
    /// Of this thread alone, sorted: what else runs on the machine does not count here.
    private let cpuTimes: [Duration]

    /// Runs `work` once to warm up, then `runs` times.
    init<Result>(runs: Int, _ work: () throws -> Result) rethrows {
        let clock = ContinuousClock()
        _ = try work()
        var times: [Duration] = []
        var cpuTimes: [Duration] = []
        for _ in 0..<runs {
            let cpuStart = Self.threadTime()
            let start = clock.now
            // The result is freed outside of the measured time.
            let result = try work()
            times.append(clock.now - start)
            cpuTimes.append(Self.threadTime() - cpuStart)
            withExtendedLifetime(result) {}
        }
        self.times = times.sorted()
        self.cpuTimes = cpuTimes.sorted()
    }

    var least: Duration { times[0] }
    var median: Duration { times[times.count / 2] }
    var cpuMedian: Duration { cpuTimes[cpuTimes.count / 2] }

    private static func threadTime() -> Duration {
        var time = timespec()
        guard unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { return .zero }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

extension Duration {
    var milliseconds: Double { self / .milliseconds(1) }
}
