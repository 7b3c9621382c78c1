#if Server
import Logging
import RemoteSettingsModel
import ServiceLifecycle
import SnapshotOrigin

/// Reads the first state, and then picks up what a refresh writes into the directory, if that is asked for.
///
/// It starts when the server listens, because documents name the server's port.
struct LoadingService: Service {
    let loader: DumpsLoader
    let state: StateBox
    let metrics: Metrics
    /// Yields the port when the server listens.
    let ports: AsyncStream<Int>
    let address: @Sendable (_ port: Int) throws -> OriginAddress
    /// The time between two looks at the directory.
    let interval: Duration
    /// Whether changes of the directory are picked up.
    let isWatching: Bool
    let logger: Logger
    let whenReady: @Sendable (ServedState) -> Void

    func run() async throws {
        for await port in ports.cancelOnGracefulShutdown() {
            let first = try await loader.begin(at: try address(port))
            state.replace(with: first)
            whenReady(first)
            await cancelWhenGracefulShutdown { await watch() }
        }
        // If a service ends, the whole server ends, so this one waits.
        try? await gracefulShutdown()
    }

    /// Checks the lock again and again until the task is cancelled. Each problem is reported once.
    private func watch() async {
        var reported = ""
        while !Task.isCancelled {
            try? await Task.sleep(for: interval)
            // If somebody shortens a bundle in place, the bundles are read again, even if the directory is not watched.
            guard isWatching || state.isDamaged else { continue }
            do {
                guard let next = try await loader.reload() else { continue }
                state.replace(with: next)
                metrics.reloaded()
                logger.info("taken up: \(next.origin.collections.count) collections are served")
                for problem in next.problems.values.sorted() { logger.error("\(problem)") }
                reported = ""
            } catch {
                if "\(error)" != reported { logger.error("\(error)") }
                reported = "\(error)"
            }
        }
    }
}
#endif
