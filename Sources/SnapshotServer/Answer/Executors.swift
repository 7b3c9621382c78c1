import NIOCore
import NIOPosix

/// Runs what serves a connection on the connection's own event loop, so that a request changes threads only where its
/// answer takes long.
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

/// Runs what takes long, such as making a page of thousands of records or a delta, on threads of its own, so that no
/// other connection waits for it.
final class SlowWorkExecutor: TaskExecutor {
    static let shared = SlowWorkExecutor()

    private let threads = NIOThreadPool.singleton

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        threads.submit { _ in unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
