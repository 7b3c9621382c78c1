import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// What a refresh did.
package struct RefreshReport: Sendable {
    package let server: String
    /// The monitor's timestamp.
    package let monitor: Timestamp
    package let isDryRun: Bool
    /// Whether the refresh only checked for changes (`--locked`).
    package let isLocked: Bool
    /// Sorted by id.
    package let outcomes: [CollectionOutcome]
    package let metrics: HTTPMetrics
    /// The collections of an interrupted commit that was finished, or would be.
    package let recovered: [CollectionID]
    /// The collections that were removed because `dumps.yaml` does not list them, or would be.
    package let unlisted: [CollectionID]
    /// The excess of all bundles together over their budget.
    package let excess: BudgetExcess?
    /// The catalogue that the directory has after the refresh, or would have; `nil` if there are no catalogues.
    package let catalogue: VerifiedCatalogue?

    /// Whether the refresh has changed anything, or would have.
    package var wouldChange: Bool {
        !recovered.isEmpty || !unlisted.isEmpty || outcomes.contains { $0.status == .planned }
    }

    /// The failures that nothing acknowledges.
    package var failed: [CollectionOutcome] { outcomes.filter { $0.status == .failed } }

    package var acknowledged: [CollectionOutcome] { outcomes.filter { $0.status == .acknowledged } }

    /// The codes of the errors that caused the failures. A collection that only follows its catalogue has no error of
    /// its own.
    private var causes: [FailureCode] { failed.compactMap(\.error).filter(\.causes.isEmpty).map(\.code) }

    /// The seconds until requests are allowed again, if servers asked to wait; `nil` unless that is the only cause of
    /// failures.
    package var backoffSeconds: Int? {
        let seconds = causes.map { if case .backoff(_, let seconds) = $0 { seconds } else { Int?.none } }
        return seconds.contains(nil) ? nil : seconds.compactMap(\.self).max()
    }

    /// Whether every collection failed, and all that are not acknowledged because the server could not be used.
    package var isUnreachable: Bool {
        !failed.isEmpty && failed.count + acknowledged.count == outcomes.count
            && failed.allSatisfy { $0.error?.code.isUnavailability == true }
    }

    /// Whether files of this machine are the only cause of failures, such as on a full disk.
    package var isStoppedByFiles: Bool { !causes.isEmpty && causes.allSatisfy { $0 == .storage } }
}

extension FailureCode {
    /// Whether the server cannot be used now: it was not reached, broke off, was too slow, or answered with an error of
    /// its own (5xx) that does not say when to come back.
    fileprivate var isUnavailability: Bool {
        switch self {
        case .unreachable, .timeout, .tls, .broken, .status(500...599): true
        default: false
        }
    }
}
