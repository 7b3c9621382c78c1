import NIOCore
import NIOPosix
import RemoteSettingsModel

/// Runs a connection's work on the event loop of the connection.
///
/// A request therefore switches to another thread only if its response is slow to compute.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class LoopExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Runs slow work, such as computing a delta, on separate threads, so that other connections do not have to wait.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class SlowWorkExecutor: TaskExecutor {
    static let shared = SlowWorkExecutor(.singleton)
    /// The executor that renders the pages of the web UI, one at a time, so that API responses have priority.
    static let pages = SlowWorkExecutor(yieldingThread())

    private let threads: NIOThreadPool

    private init(_ threads: NIOThreadPool) {
        self.threads = threads
    }

    /// Returns a thread pool with one low-priority thread.
    private static func yieldingThread() -> NIOThreadPool {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        #if os(Linux)
        // On Linux, each thread has its own priority, and the id 0 refers to the calling thread.
        #if canImport(Glibc)
        let process = __priority_which_t(PRIO_PROCESS.rawValue)
        #else
        let process = PRIO_PROCESS
        #endif
        pool.submit { _ in _ = setpriority(process, 0, 10) }
        #endif
        return pool
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        threads.submit { _ in unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Runs slow work off the event loops. On macOS 14, which does not support that, it runs on the event loop.
///
/// - Parameter forPeople: whether the work renders a page of the web UI. API responses have priority over pages.
func slowly<Value>(forPeople: Bool = false, _ work: () async -> Value) async -> Value {
    guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return await work() }
    return await withTaskExecutorPreference(forPeople ? SlowWorkExecutor.pages : .shared, operation: work)
}
