import Dumps
import RemoteSettingsModel

/// The result of `rsdump refresh`, which ``RefreshText`` formats for people.
struct RefreshResult: Encodable {
    let report: RefreshReport
    /// The results of the `--on-change` commands.
    let hooks: [ChangeHooks.Outcome]

    func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "server": report.server, "dryRun": report.isDryRun, "locked": report.isLocked,
            "collections": report.outcomes, "recovered": report.recovered, "removed": report.unlisted,
            "failed": report.failed.count, "acknowledged": report.acknowledged.count, "overBudget": report.excess,
            "requests": report.metrics.requests,
            "receivedBytes": report.metrics.bodyBytes, "hooks": hooks.isEmpty ? nil : hooks,
            "exitCode": report.exitStatus.rawValue,
        ])
    }
}
