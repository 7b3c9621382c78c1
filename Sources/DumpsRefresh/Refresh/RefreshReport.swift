import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel

/// What a refresh did.
public struct RefreshReport: Sendable {
    public let server: String
    public let isDryRun: Bool
    /// Whether nothing was to change (`--locked`).
    public let isLocked: Bool
    /// Sorted by id.
    public let outcomes: [CollectionOutcome]
    public let metrics: HTTPMetrics
    /// Collections whose bundles were taken over from an interrupted refresh.
    public let recovered: [CollectionID]
    /// What all bundles together are over their budget.
    public let excess: BudgetExcess?

    /// Whether a refresh would change, or has changed, anything.
    public var wouldChange: Bool { !recovered.isEmpty || outcomes.contains { $0.status == .planned } }

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

    /// Whether every collection failed because the server could not be used.
    public var isUnreachable: Bool {
        !failed.isEmpty && failed.count == outcomes.count
            && failed.allSatisfy { $0.error?.http?.isNetworkFailure == true }
    }
}

/// What happens during a refresh, for people to see. Given from any task, in the order of each collection's own events.
public enum RefreshEvent: Sendable {
    case planned([PlannedCollection])
    case began(CollectionID)
    /// The attachments to download, in files and bytes.
    case downloading(CollectionID, files: Int, bytes: UInt64)
    case received(CollectionID, bytes: Int)
    case downloaded(CollectionID)
    case packing(CollectionID)
    case finished(CollectionOutcome)
    case http(HTTPEvent)
}
