import CThreads
import Dispatch
import RemoteSettingsModel

/// Runs tasks on its own threads, so that they continue while every thread of Swift's pool is blocked.
///
/// A caller may therefore block its thread until such a task has ended (``whileBlocked(_:)``), whatever thread it is
/// on. Child tasks inherit the threads, but unstructured tasks do not. Below a task that somebody may wait for, each
/// unstructured task must therefore be started by ``start(_:)`` or ``startLikewise(_:)``. Such tasks must not sleep
/// with `Task.sleep`, which requires a thread of the pool when it ends.
///
/// Threads are started when there is work for them, and end after some seconds without work.
///
/// Before iOS 18 and macOS 15, a task cannot choose where it runs. Tasks then run on Swift's pool and wait while every
/// thread of the pool is blocked, so a caller must not block one.
package final class WorkThreads: Sendable {
    package static let shared = WorkThreads(most: max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    private struct Sleeper {
        let end: ContinuousClock.Instant
        let continuation: CheckedContinuation<Void, Never>
    }

    private enum Step {
        case run(UnownedJob)
        case wake(CheckedContinuation<Void, Never>)
        case wait(Duration)
        case end
    }

    private struct State {
        var jobs: [UnownedJob] = []
        var sleepers: [Int: Sleeper] = [:]
        /// The number of sleeps so far.
        var sleeps = 0
        var threads = 0
        /// The number of threads that wait and have not been called yet.
        var waiting = 0
        /// The number of threads that a job has blocked.
        var blocked = 0
    }

    private static let idleTime = Duration.seconds(10)

    private let most: Int
    private let state = Mutex(State())
    /// Signalled once for each thread that is called.
    private let calls = DispatchSemaphore(value: 0)

    /// Makes the threads.
    ///
    /// - Parameter most: the largest number of running threads. Blocked threads do not count.
    init(most: Int) {
        self.most = most
    }

    // MARK: Tasks

    /// Starts a task on these threads.
    @discardableResult
    package static func start<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
        guard #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) else {
            return Task(operation: body)
        }
        return Task(executorPreference: shared, operation: body)
    }

    /// Starts a task on these threads if the caller's task runs on them, otherwise on Swift's pool.
    static func startLikewise<Value: Sendable>(
        _ body: @escaping @Sendable () async -> Value
    ) -> Task<Value, Never> {
        guard #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) else {
            return Task(operation: body)
        }
        return Task(executorPreference: isCurrent ? shared : nil, operation: body)
    }

    /// Starts a task as the other `startLikewise` does, for a task that may fail.
    package static func startLikewise<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) -> Task<Value, any Error> {
        guard #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) else {
            return Task(operation: body)
        }
        return Task(executorPreference: isCurrent ? shared : nil, operation: body)
    }

    /// Runs a part of the current task on these threads.
    package static func run<Value: Sendable, Failure: Error>(
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) else {
            return try await body()
        }
        return try await withTaskExecutorPreference(shared, operation: body)
    }

    /// Waits. Throws `CancellationError` if the task is cancelled meanwhile.
    package static func sleep(for duration: Duration) async throws {
        guard isCurrent else { return try await Task.sleep(for: duration) }
        await shared.sleep(until: .now.advanced(by: duration))
        try Task.checkCancellation()
    }

    /// Calls `wait`, which blocks the calling thread until some work on these threads has ended.
    ///
    /// If the calling thread is one of them, another thread may run in its place.
    package func whileBlocked(_ wait: () -> Void) {
        guard Self.isCurrent else { return wait() }
        state.withLock { state in
            state.blocked += 1
            if !state.jobs.isEmpty || !state.sleepers.isEmpty { call(&state) }
        }
        wait()
        state.withLock { $0.blocked -= 1 }
    }

    /// Whether the current task prefers these threads.
    private static var isCurrent: Bool {
        guard #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) else { return false }
        let mine = unsafe shared.asUnownedTaskExecutor()
        return unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor == mine }
    }

    private func sleep(until end: ContinuousClock.Instant) async {
        let number = state.withLock { state in
            state.sleeps += 1
            return state.sleeps
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // This is checked under the lock, so a later cancellation finds the sleeper.
                let isCancelled = state.withLock { state in
                    guard !Task.isCancelled else { return true }
                    state.sleepers[number] = Sleeper(end: end, continuation: continuation)
                    call(&state)
                    return false
                }
                if isCancelled { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: number) }?.continuation.resume()
        }
    }

    // MARK: Threads

    /// Calls a thread to look for work: a waiting one, or else a new one.
    private func call(_ state: inout State) {
        if state.waiting > 0 {
            state.waiting -= 1
            calls.signal()
        } else if state.threads - state.blocked < most {
            state.threads += 1
            startThread()
        }
    }

    private func startThread() {
        let status = unsafe rs_start_thread(
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<WorkThreads>.fromOpaque(context).takeRetainedValue().work()
                }
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        guard status != 0 else { return }
        // The system cannot start another thread. One of Dispatch's threads does the work as far as it can.
        unsafe Unmanaged.passUnretained(self).release()
        DispatchQueue.global().async { self.work() }
    }

    private func work() {
        while true {
            switch state.withLock({ next(&$0) }) {
            case .run(let job):
                // Where tasks cannot choose their threads, nothing is enqueued.
                if #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) {
                    unsafe job.runSynchronously(on: asUnownedTaskExecutor())
                }
            case .wake(let continuation): continuation.resume()
            case .wait(let time): if !wait(time) { return }
            case .end: return
            }
        }
    }

    private func next(_ state: inout State) -> Step {
        // The thread was blocked, another one replaced it, and it has come back.
        guard state.threads - state.blocked <= most else {
            state.threads -= 1
            return .end
        }
        let now = ContinuousClock.now
        let sleeper = state.sleepers.min { $0.value.end < $1.value.end }
        if let sleeper, sleeper.value.end <= now {
            state.sleepers[sleeper.key] = nil
            return .wake(sleeper.value.continuation)
        }
        if !state.jobs.isEmpty {
            // While this thread works, another one watches the sleepers.
            if sleeper != nil, state.waiting == 0 { call(&state) }
            return .run(state.jobs.removeFirst())
        }
        state.waiting += 1
        return .wait(min(sleeper.map { now.duration(to: $0.value.end) } ?? Self.idleTime, Self.idleTime))
    }

    /// Waits for work.
    ///
    /// - Returns: whether the thread continues.
    private func wait(_ time: Duration) -> Bool {
        let (seconds, attoseconds) = time.components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000) + 1
        guard calls.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .timedOut else { return true }
        return state.withLock { state in
            // Threads are called under the lock, so this shows whether this thread was called.
            guard calls.wait(timeout: .now()) == .timedOut else { return true }
            state.waiting -= 1
            // While there are sleepers, one thread stays.
            guard time >= Self.idleTime, state.jobs.isEmpty, state.sleepers.isEmpty || state.waiting > 0 else {
                return true
            }
            state.threads -= 1
            return false
        }
    }
}

@available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *)
extension WorkThreads: TaskExecutor {
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { state in
            state.jobs.append(job)
            call(&state)
        }
    }
}
