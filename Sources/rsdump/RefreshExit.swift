import SnapshotBuilder

/// The exit code of a refresh.
enum RefreshExit {
    static func status(of report: RefreshReport) -> ExitStatus {
        if report.failed.isEmpty { return .done }
        if report.backoffSeconds != nil { return .backoff }
        if report.isUnreachable { return .unreachable }
        return .someFailed
    }
}
