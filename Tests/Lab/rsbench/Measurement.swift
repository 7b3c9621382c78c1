#if Lab
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

    private init(_ times: [Duration], _ cpuTimes: [Duration]) {
        (self.times, self.cpuTimes) = (times.sorted(), cpuTimes.sorted())
    }

    /// Runs two works in turn, so that what else the machine does falls upon both. Each runs once to warm up.
    static func inTurn<Result>(
        runs: Int, _ first: () throws -> Result, _ second: () throws -> Result
    ) rethrows -> (Measurement, Measurement) {
        let clock = ContinuousClock()
        var (times, cpuTimes) = ([[], []] as [[Duration]], [[], []] as [[Duration]])
        for round in 0...runs {
            for index in 0...1 {
                let cpuStart = threadTime()
                let start = clock.now
                let result = try index == 0 ? first() : second()
                if round > 0 {
                    times[index].append(clock.now - start)
                    cpuTimes[index].append(threadTime() - cpuStart)
                }
                withExtendedLifetime(result) {}
            }
        }
        return (Measurement(times[0], cpuTimes[0]), Measurement(times[1], cpuTimes[1]))
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
#endif
