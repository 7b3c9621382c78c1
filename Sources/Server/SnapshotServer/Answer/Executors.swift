#if Server
import NIOCore
import NIOPosix
import RemoteSettingsModel

/// Runs a connection's work on the connection's own event loop.
///
/// So a request changes threads only if its answer takes long.
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

/// Runs slow work, such as making a delta, on separate threads, so that other connections do not wait for it.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class SlowWorkExecutor: TaskExecutor {
    static let shared = SlowWorkExecutor(.singleton)
    /// Makes the pages for people, one at a time, because answers to programs come first.
    static let pages = SlowWorkExecutor(yieldingThread())

    private let threads: NIOThreadPool

    private init(_ threads: NIOThreadPool) {
        self.threads = threads
    }

    /// A thread that gets little processor time while other threads want it.
    private static func yieldingThread() -> NIOThreadPool {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        #if os(Linux)
        // On Linux each thread has its own priority, and 0 stands for the calling thread.
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

/// Runs slow work away from the event loops. On macOS 14, which cannot do that, it runs in place.
///
/// - Parameter forPeople: whether the work makes a page. Pages come after answers to programs.
func slowly<Value>(forPeople: Bool = false, _ work: () async -> Value) async -> Value {
    guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else { return await work() }
    return await withTaskExecutorPreference(forPeople ? SlowWorkExecutor.pages : .shared, operation: work)
}
#endif
