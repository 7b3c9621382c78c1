import RemoteSettingsHTTP
import RemoteSettingsModel

/// What a refresh did.
public struct RefreshReport: Sendable {
    public let server: String
    public let isDryRun: Bool
    /// Sorted by id.
    public let outcomes: [CollectionOutcome]
    public let metrics: HTTPMetrics
    /// Collections whose bundles were taken over from an interrupted refresh.
    public let recovered: [CollectionID]

    public var failed: [CollectionOutcome] { outcomes.filter { $0.status == .failed } }

    /// Whether nothing failed but for servers that asked for a pause, and how many seconds are left of it.
    public var backoffSeconds: Int? {
        let failures = failed
        guard !failures.isEmpty else { return nil }
        var longest = 0
        for failure in failures {
            guard case .backoff(_, let seconds) = failure.error?.http?.reason else { return nil }
            longest = max(longest, seconds)
        }
        return longest
    }

    /// Whether every collection failed because nothing answered.
    public var isUnreachable: Bool {
        !failed.isEmpty && failed.count == outcomes.count
            && failed.allSatisfy { $0.error?.http?.category == .unreachable }
    }
}
