import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The result of a refresh.
package struct RefreshReport: Sendable {
    package let server: String
    /// The monitor's timestamp.
    package let monitor: Timestamp
    package let isDryRun: Bool
    /// Whether the refresh only checked for changes (`--locked`).
    package let isLocked: Bool
    /// The outcomes, sorted by collection id.
    package let outcomes: [CollectionOutcome]
    package let metrics: HTTPMetrics
    /// The collections of an interrupted commit that was finished, or would be in a dry run.
    package let recovered: [CollectionID]
    /// The collections that were removed because `dumps.yaml` does not list them, or would be in a dry run.
    package let unlisted: [CollectionID]
    /// The excess of all bundles together over their budget; `nil` if there is none.
    package let excess: BudgetExcess?

    /// Whether the refresh would change anything.
    package var wouldChange: Bool {
        !recovered.isEmpty || !unlisted.isEmpty || outcomes.contains { $0.status == .planned }
    }

    /// The failures that are not acknowledged.
    package var failed: [CollectionOutcome] { outcomes.filter { $0.status == .failed } }

    package var acknowledged: [CollectionOutcome] { outcomes.filter { $0.status == .acknowledged } }

    /// The codes of the errors that caused the failures.
    private var causes: [Failure.Code] { failed.compactMap(\.error).map(\.code) }

    /// The number of seconds until requests are allowed again; `nil` unless a backoff requested by servers is the only
    /// cause of failures.
    package var backoffSeconds: Int? {
        let seconds = causes.map { if case .backoff(_, let seconds) = $0 { seconds } else { Int?.none } }
        return seconds.contains(nil) ? nil : seconds.compactMap(\.self).max()
    }

    /// Whether every collection failed, and those without an acknowledgement only because the server was unavailable.
    package var isUnreachable: Bool {
        !failed.isEmpty && failed.count + acknowledged.count == outcomes.count
            && failed.allSatisfy { $0.error?.code.isUnavailability == true }
    }

    /// Whether all failures were caused by files on this machine, for example because the disk is full.
    package var isStoppedByFiles: Bool { !causes.isEmpty && causes.allSatisfy { $0 == .storage } }
}

extension Failure.Code {
    /// Whether the server is unavailable: it was not reached, dropped the connection, was too slow, or answered with an
    /// error (5xx) without a time to retry.
    fileprivate var isUnavailability: Bool {
        switch self {
        case .unreachable, .timeout, .tls, .broken, .status(500...599): true
        default: false
        }
    }
}
