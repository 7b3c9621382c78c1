import Hummingbird

/// A read-only origin over snapshot bundles.
public struct SnapshotServer: Sendable {
    public init() {}

    /// Serves until the task is cancelled.
    public func run() async throws {
        let router = Router()
        router.get("__heartbeat__") { _, _ in HTTPResponse.Status.ok }
        try await Application(router: router).runService()
    }
}
