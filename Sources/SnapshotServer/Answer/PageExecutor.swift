import NIOPosix

/// Runs what makes pages on threads of its own: pages of thousands of records, asked for at once, must not keep those
/// waiting who are accepted and answered by Swift's few threads.
final class PageExecutor: TaskExecutor {
    static let shared = PageExecutor()

    private let threads = NIOThreadPool.singleton

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        threads.submit { _ in unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
