import RemoteSettingsModel
import SnapshotBundle

extension Verification {
    /// The guard violations of one bundle.
    package struct Guarded: Sendable, Encodable {
        package let collection: CollectionID
        package let violations: [GuardViolation]
    }

    /// Checks the bundles that passed verification against the configured guards. Does I/O.
    ///
    /// Violations that the lock file records as accepted are left out.
    ///
    /// - Parameter history: the earlier states to compare with; `nil` to skip the guards that need them.
    package func violations(
        by configuration: DumpsConfiguration, of outcomes: [Outcome], history: BundleHistory?
    ) async throws -> [Guarded] {
        var found: [Guarded] = []
        for outcome in outcomes where outcome.verdict.isGood && outcome.id != Catalogue.collection {
            guard let entry = outcome.entry else { continue }
            let bundle = try BundleReader(path: directory.bundlePath(outcome.id), limits: limits)
            let earlier = try await history?.bundles(of: outcome.id).bundles.first { $0.timestamp < entry.timestamp }
            let violations = configuration.settings(of: outcome.id).guards.violations(
                of: try bundle.payload().records, after: try await earlier?.open().payload().records, limits: limits
            ).filter { violation in
                !entry.accepted.contains { $0.hasPrefix("\(violation.guarding.rawValue):") }
            }
            if !violations.isEmpty { found.append(Guarded(collection: outcome.id, violations: violations)) }
        }
        return found
    }
}
