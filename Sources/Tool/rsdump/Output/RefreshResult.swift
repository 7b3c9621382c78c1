import DumpsRefresh
import RemoteSettingsModel

/// The result of `rsdump refresh`. ``RefreshText`` and ``RefreshMarkdown`` show it to people.
struct RefreshResult: Encodable {
    let report: RefreshReport
    /// The results of the commands of `--on-change`.
    let hooks: [ChangeHooks.Outcome]
    let now: Timestamp

    func encode(to encoder: any Encoder) throws {
        try report.encode(to: encoder)
        try encoder.encode(members: [
            "catalogue": report.catalogue.map { CatalogueReport($0, at: now) }, "failed": report.failed.count,
            "requests": report.metrics.requests, "receivedBytes": report.metrics.bodyBytes,
            "hooks": hooks.isEmpty ? nil : hooks, "exitCode": report.exitStatus.rawValue,
        ])
    }
}
