import DumpsRefresh

/// The exit code of a refresh.
enum RefreshExit {
    static func status(of report: RefreshReport) -> ExitStatus {
        if report.isLocked && report.wouldChange { return .wouldChange }
        if report.failed.isEmpty { return report.excess == nil ? .done : .someFailed }
        if report.backoffSeconds != nil { return .backoff }
        if report.isUnreachable { return .unreachable }
        return .someFailed
    }
}
