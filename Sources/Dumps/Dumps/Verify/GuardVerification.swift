import RemoteSettingsModel
import SnapshotBundle

extension Verification {
    /// The guard violations of one bundle.
    package struct Guarded: Sendable, Encodable {
        package let collection: CollectionID
        package let violations: [GuardViolation]
        /// The reason that guards could not compare the bundle with its earlier state; `nil` if they could.
        package let problem: String?
    }

    /// Checks the bundles that passed verification against the configured guards. Does I/O.
    ///
    /// Violations that the lock file records as accepted are left out.
    ///
    /// - Parameters:
    ///   - history: the earlier states to compare with, or the error for which there is no history.
    /// - Returns: the bundles that violate guards, or that cannot be compared with their earlier states.
    package func violations(
        by configuration: DumpsConfiguration, of outcomes: [Outcome], history: Result<BundleHistory, Failure>
    ) async throws -> [Guarded] {
        var found: [Guarded] = []
        for outcome in outcomes where outcome.verdict.isGood {
            guard let entry = outcome.entry else { continue }
            let bundle = try directory.bundle(outcome.id)
            let records = try bundle.payload().records
            let guards = configuration.settings(of: outcome.id).guards
            var (earlier, problem): (HistoricBundle?, String?)
            switch history {
            case .success(let history):
                let listing = try await history.bundles(of: outcome.id)
                earlier = listing.bundles.first { $0.timestamp < entry.timestamp }
                problem = listing.unusable.first.map { "\($0)" } ?? (listing.isCut ? history.gap : nil)
            case .failure(let error):
                problem = error.located
            }
            if earlier != nil || !guards.compare(records) { problem = nil }
            let violations = guards.violations(
                of: records, after: try await earlier?.open().payload().records
            ).filter { violation in
                !entry.accepted.contains { $0.hasPrefix("\(violation.guarding.rawValue):") }
            }
            if !violations.isEmpty || problem != nil {
                found.append(Guarded(collection: outcome.id, violations: violations, problem: problem))
            }
        }
        return found
    }
}
