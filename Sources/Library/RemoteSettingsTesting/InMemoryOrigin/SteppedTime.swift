import Foundation
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel

/// A factor for time limits in tests: ten with a sanitizer (`RS_SANITIZED` is set), otherwise one.
package let slowness = ProcessInfo.processInfo.environment["RS_SANITIZED"] == nil ? 1 : 10

/// A clock that advances only when a test moves it. The date and time can be set separately.
public final class SteppedTime: Sendable {
    private struct State {
        var uptime = Duration.zero
        var start: Timestamp
        var sleepers: [Int: (due: Duration, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var cancelled: Set<Int> = []
        var count = 0
        /// The number of calls of ``SteppedTime/run(isolation:_:)``, which move the clock.
        var runs = 0
        var random: UInt64 = 1
        var fixedChance: Double?
    }

    /// The directory for the files of the code under test. It is in memory if there is enough space; in a container,
    /// there may be only 64 MiB.
    ///
    /// On a busy disk, flushing a file may take longer than a test waits before it moves the clock.
    package static let folder: URL = {
        let memory = "/dev/shm"
        let free = try? FileManager.default.attributesOfFileSystem(forPath: memory)[.systemFreeSize] as? Int
        let isUsable = (free ?? 0) >= 1 << 30 && FileManager.default.isWritableFile(atPath: memory)
        return isUsable ? URL(filePath: memory) : FileManager.default.temporaryDirectory
    }()

    /// The real time after which a request that waits to be repeated fails.
    private let patience: Duration
    private let state: Mutex<State>

    /// Creates a clock.
    ///
    /// - Parameters:
    ///   - chance: the result of every request for a random number; `nil` for a sequence that is always the same.
    ///   - seed: the start of that sequence.
    public convenience init(chance: Double? = nil, seed: UInt64 = 1) {
        self.init(chance: chance, seed: seed, patience: .seconds(20))
    }

    package init(chance: Double? = nil, seed: UInt64 = 1, patience: Duration) {
        self.patience = patience
        state = Mutex(
            State(start: HTTPEnvironment.system.now(), random: seed &* 0x9E37_79B9_7F4A_7C15 | 1, fixedChance: chance))
    }

    /// The total duration by which the clock has been moved.
    public var uptime: Duration { state.withLock { $0.uptime } }
    /// The date and time.
    public var now: RemoteSettingsTimestamp { state.withLock { $0.start.advanced(by: $0.uptime) } }

    /// Moves the date and time forward or back. Code that is sleeping is not affected.
    public func setClock(by difference: Duration) {
        state.withLock { $0.start = $0.start.advanced(by: difference) }
    }

    /// The environment for a configuration. Its random numbers are the same in each run.
    package var environment: HTTPEnvironment { environment(random: { self.random() }) }

    /// Returns an environment for a configuration.
    ///
    /// - Parameter random: a closure that returns random numbers from 0 up to, but not including, 1.
    package func environment(random: @escaping @Sendable () -> Double) -> HTTPEnvironment {
        var environment = HTTPEnvironment(
            now: { self.now }, sleep: { try await self.sleep(for: $0) }, random: random, uptime: { self.uptime })
        environment.pause = { try await self.sleep(for: $0, patience: self.patience) }
        return environment
    }

    private func random() -> Double {
        state.withLock { state in
            if let fixed = state.fixedChance { return fixed }
            state.random ^= state.random << 13
            state.random ^= state.random >> 7
            state.random ^= state.random << 17
            return Double(state.random >> 11) / Double(1 << 53)
        }
    }

    /// Waits until the clock has moved by this duration.
    ///
    /// - Throws: `CancellationError`.
    public func sleep(for duration: Duration) async throws { try await sleep(for: duration, patience: nil) }

    /// - Parameter patience: the real time after which the wait fails if nobody has moved the clock. A call that waits
    ///   before it repeats a request would otherwise hang a test that awaits it.
    private func sleep(for duration: Duration, patience: Duration?) async throws {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let began = uptime
        let watch = patience.map { patience in
            Task {
                try await Task.sleep(for: patience)
                let sleeper = state.withLock { state in
                    state.uptime == began && state.runs == 0 ? state.sleepers.removeValue(forKey: number) : nil
                }
                sleeper?.continuation.resume(
                    throwing: Failure(
                        .program,
                        "a request waits to be repeated, and the test has not moved its SteppedTime for "
                            + "\(patience)", remedy: "await the call in time.run { … }"))
            }
        }
        defer { watch?.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isOver = state.withLock { state -> Bool? in
                    if state.cancelled.remove(number) != nil { return false }
                    if duration <= .zero { return true }
                    state.sleepers[number] = (state.uptime + duration, continuation)
                    return nil
                }
                if isOver == true { continuation.resume() }
                if isOver == false { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: number)
                if sleeper == nil { state.cancelled.insert(number) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Moves the clock forward in steps. The code under test runs after each step.
    ///
    /// - Parameters:
    ///   - duration: the duration by which the clock moves.
    ///   - step: the length of a step. All sleepers that are due within one step wake at the same time. With `nil`,
    ///     there is one step for each sleeper.
    public func pass(_ duration: Duration, step: Duration? = nil) async {
        let end = uptime + duration
        await settle()
        while true {
            // Before a long step, give running code more time to start sleeping: if it starts only after the step, it
            // wakes later than the test expects.
            if nextStep(until: end) >= .seconds(5), Self.isMachineBusy { await settle(checks: 12) }
            let woken = state.withLock { state -> [CheckedContinuation<Void, any Error>]? in
                guard state.uptime < end else { return nil }
                let next = state.sleepers.values.map(\.due).min() ?? end
                state.uptime = min(end, max(next, state.uptime) + (step ?? .zero))
                let due = state.sleepers.filter { $0.value.due <= state.uptime }
                for number in due.keys { state.sleepers[number] = nil }
                return due.sorted { $0.value.due < $1.value.due }.map(\.value.continuation)
            }
            guard let woken else { return }
            for continuation in woken { continuation.resume() }
            if !woken.isEmpty { await settle(checks: 4) }
        }
    }

    /// Runs `work`, and moves the clock to the next sleeper's time whenever everything sleeps, until `work` returns.
    ///
    /// - Parameters:
    ///   - isolation: the caller's isolation, in which `work` runs.
    ///   - work: a call that may wait, for example before it repeats a request.
    @discardableResult
    public func run<Value, Thrown: Error>(
        isolation: isolated (any Actor)? = #isolation, _ work: () async throws(Thrown) -> Value
    ) async throws(Thrown) -> Value {
        state.withLock { $0.runs += 1 }
        let pump = Task {
            while !Task.isCancelled {
                await settle(checks: 40)
                let next = state.withLock { $0.sleepers.values.map(\.due).min() }
                if let next, !Task.isCancelled { await pass(next - uptime) }
            }
        }
        defer {
            pump.cancel()
            state.withLock { $0.runs -= 1 }
        }
        return try await work()
    }

    private func nextStep(until end: Duration) -> Duration {
        state.withLock { state in min(end, state.sleepers.values.map(\.due).min() ?? end) - state.uptime }
    }

    /// Waits until several consecutive checks have found that no more code has started to sleep on this clock.
    ///
    /// There are more checks on a busy machine, where tasks are scheduled later.
    public func settle() async { await settle(checks: Self.isMachineBusy ? 12 : 4) }

    private func settle(checks: Int) async {
        var (seen, quiet, needed) = (-1, 0, checks * slowness)
        for _ in 0..<200 * slowness {
            let began = ContinuousClock.now
            for _ in 0..<20 where ContinuousClock.now - began < .milliseconds(50) { await Task.yield() }
            try? await Task.sleep(for: .milliseconds(1))
            let lateness = (ContinuousClock.now - began) / .milliseconds(4)
            needed = max(needed, min(Int(lateness), 10) * 4 * slowness)
            let count = state.withLock { $0.count }
            quiet = count == seen ? quiet + 1 : 0
            if quiet >= needed { return }
            seen = count
        }
    }

    /// Whether the load average of the last minute shows that processes have waited for a processor. A thread may then
    /// wait longer to be scheduled than a few checks take.
    private static var isMachineBusy: Bool {
        var load = 0.0
        return unsafe getloadavg(&load, 1) == 1
            && load > 1.25 * Double(ProcessInfo.processInfo.activeProcessorCount)
    }
}

extension SteppedTime: Clock {
    /// A millisecond.
    public var minimumResolution: Duration { .milliseconds(1) }

    /// Waits until the clock has reached a time.
    public func sleep(until deadline: RemoteSettingsTimestamp, tolerance: Duration? = nil) async throws {
        try await sleep(for: now.duration(to: deadline))
    }
}
