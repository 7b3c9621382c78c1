import CPlatform
import Dispatch
import RemoteSettingsModel

/// Runs tasks on separate threads, so that they continue while every thread of Swift's task pool is blocked.
///
/// Child tasks inherit these threads, but unstructured tasks do not. If a blocked thread may wait for a task, start
/// every unstructured task inside it with ``start(_:)``. Code on these threads must never block.
///
/// Before iOS 18 and macOS 15, a task cannot choose its executor (``areAvailable``). Tasks then run on Swift's task
/// pool, and code must not block a thread until another task finishes.
package final class WorkThreads: Sendable {
    private struct State {
        var jobs: [UnownedJob] = []
        var threads = 0
    }

    private static let shared = WorkThreads()
    private static let isOff = Mutex(false)
    private static let timers = DispatchQueue(label: "remote-settings.timers")

    private let most = max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    private let state = Mutex(State())
    /// Signalled once for each job.
    private let arrivals = DispatchSemaphore(value: 0)

    // MARK: Tasks

    /// Whether tasks can run on these threads.
    package static var areAvailable: Bool {
        guard #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) else { return false }
        return preferred != nil
    }

    /// Disables these threads in this process, as on an older system, for tests.
    package static func turnOff() { isOff.withLock { $0 = true } }

    @available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *)
    private static var preferred: (any TaskExecutor)? { isOff.withLock { $0 } ? nil : shared }

    /// Starts a task on these threads.
    @discardableResult
    package static func start<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
        guard #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) else { return Task(operation: body) }
        return Task(executorPreference: preferred, operation: body)
    }

    /// Runs a part of the current task on these threads.
    package static func run<Value: Sendable, Failure: Error>(
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) else { return try await body() }
        return try await withTaskExecutorPreference(preferred, operation: body)
    }

    /// Suspends the task. Throws `CancellationError` if the task is cancelled during the wait.
    package static func sleep(for duration: Duration) async throws {
        // `Task.sleep` needs a free thread of Swift's task pool to resume.
        guard isCurrent else { return try await Task.sleep(for: duration) }
        let (end, continuation) = AsyncStream<Void>.makeStream()
        let milliseconds = Int(clamping: duration.wholeMilliseconds.saturatingAdding(1))
        timers.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { continuation.finish() }
        for await _ in end {}
        try Task.checkCancellation()
    }

    /// Whether the current task runs on these threads.
    private static var isCurrent: Bool {
        guard #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) else { return false }
        let mine = unsafe shared.asUnownedTaskExecutor()
        return unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor == mine }
    }

    // MARK: Threads

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a thread for work that may block it indefinitely.
    package static func startThread(_ body: @escaping @Sendable () -> Void) {
        let context = unsafe Unmanaged.passRetained(Body(body))
        let status = unsafe rs_start_thread(
            { context in
                if let context = unsafe context { unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, unsafe context.toOpaque())
        guard status != 0 else { return }
        // The system cannot create a thread, so fall back to a Dispatch thread.
        unsafe context.release()
        DispatchQueue.global().async(execute: body)
    }
}

@available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *)
extension WorkThreads: TaskExecutor {
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let needsThread = state.withLock { state in
            state.jobs.append(job)
            guard state.threads < most else { return false }
            state.threads += 1
            return true
        }
        arrivals.signal()
        if needsThread { Self.startThread { self.work() } }
    }

    private func work() {
        while true {
            arrivals.wait()
            let job = state.withLock { $0.jobs.removeFirst() }
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
