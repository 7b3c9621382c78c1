import Logging
import RemoteSettingsModel
import ServiceLifecycle

/// Takes up what a refresh writes into a directory, without a restart.
public struct DirectoryWatch: Service {
    private let loader: DumpsLoader
    private let state: StateBox
    private let metrics: Metrics
    private let limits: ServerLimits
    private let logger: Logger

    public init(
        _ loader: DumpsLoader, into state: StateBox, metrics: Metrics, limits: ServerLimits, logger: Logger
    ) {
        self.loader = loader
        self.state = state
        self.metrics = metrics
        self.limits = limits
        self.logger = logger
    }

    /// Looks at the lock again and again until it is to end. What goes wrong is reported once, and tried again.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            var reported = ""
            while !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(limits.watchMilliseconds))
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
}
