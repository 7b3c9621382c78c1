import Dumps
import Logging
import RemoteSettingsModel
import ServiceLifecycle
import SnapshotOrigin

/// A service that loads the first state and then, with `--watch`, each change that a refresh makes in the directory.
///
/// It starts when the server is listening, because responses contain the server's port.
struct LoadingService: Service {
    let directory: DumpsDirectory
    let loader: DumpsLoader
    let state: StateBox
    let metrics: Metrics
    /// Yields the port when the server is listening.
    let ports: AsyncStream<Int>
    let address: @Sendable (_ port: Int) throws -> OriginAddress
    /// The interval between checks of the directory.
    let interval: Duration
    /// Whether to reload the directory when it changes.
    let isWatching: Bool
    let logger: Logger
    let whenReady: @Sendable (ServedState) -> Void

    func run() async throws {
        for await port in ports.cancelOnGracefulShutdown() {
            guard await cancelWhenGracefulShutdown({ await waitForLock() }) else { break }
            let first = try await loader.begin(at: try address(port))
            state.replace(with: first)
            whenReady(first)
            await cancelWhenGracefulShutdown { await watch() }
        }
        // If one service returns, the whole server stops, so wait here.
        try? await gracefulShutdown()
    }

    /// Waits for the lock file, if the server watches the directory. A first refresh may not have finished yet.
    ///
    /// - Returns: `false` if the task was cancelled.
    private func waitForLock() async -> Bool {
        guard isWatching, !directory.hasLock else { return true }
        logger.info("waiting for \(directory.lockPath), which rsdump refresh creates")
        while !directory.hasLock {
            do { try await Task.sleep(for: interval) } catch { return false }
        }
        return true
    }

    /// Checks the lock file repeatedly until the task is cancelled. Reports each problem once.
    private func watch() async {
        var reported = ""
        while !Task.isCancelled {
            try? await Task.sleep(for: interval)
            // If a bundle was truncated in place, reload all bundles, even without --watch.
            guard isWatching || state.isDamaged else { continue }
            do {
                guard let next = try await loader.reload() else { continue }
                state.replace(with: next)
                metrics.reloaded()
                logger.info("loaded new bundles; number of collections served: \(next.origin.collections.count)")
                for problem in next.problems.values.sorted() { logger.error("\(problem)") }
                reported = ""
            } catch {
                if "\(error)" != reported { logger.error("\(error)") }
                reported = "\(error)"
            }
        }
    }
}
