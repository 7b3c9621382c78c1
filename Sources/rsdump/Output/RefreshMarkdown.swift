import RemoteSettingsModel
import SnapshotBuilder

/// A refresh's report as Markdown, for a job's summary or a pull request.
struct RefreshMarkdown {
    private let report: RefreshReport

    init(_ report: RefreshReport) {
        self.report = report
    }

    var text: String {
        var lines = ["## Remote Settings dumps", ""]
        let changed = report.outcomes.filter { ![.unchanged, .pinned, .failed].contains($0.status) }
        let pinned = report.outcomes.filter { $0.pin != nil }
        let unchanged = report.outcomes.count { $0.status == .unchanged || $0.status == .pinned }
        lines.append(
            "\(changed.count) changed, \(unchanged) unchanged, \(report.failed.count) failed; "
                + "\(report.metrics.requests) requests to \(code(report.server)), "
                + "\(ByteSize.text(UInt64(report.metrics.bodyBytes))) received.")
        if !changed.isEmpty {
            lines += ["", "| collection | result | details |", "| --- | --- | --- |"]
            for outcome in changed {
                let details = outcome.status == .planned ? outcome.action.sentence : RefreshText.details(outcome)
                lines.append("| \(code("\(outcome.id)")) | \(outcome.status.rawValue) | \(cell(details)) |")
            }
        }
        if !report.failed.isEmpty {
            lines += ["", "### Failed", ""]
            for outcome in report.failed {
                lines.append("- \(code("\(outcome.id)")): \(cell(outcome.error.map { "\($0)" } ?? ""))")
            }
        }
        if let excess = report.excess { lines += ["", "### Over budget", "", cell("\(excess)")] }
        if !pinned.isEmpty { lines += ["", "### Pinned", ""] }
        for outcome in pinned {
            lines.append("- \(code("\(outcome.id)")): \(cell(outcome.pin.map(PinText.sentence) ?? ""))")
        }
        let notes = report.outcomes.flatMap { outcome in outcome.notes.map { "- \(code("\(outcome.id)")): \(cell($0))" }
        }
        if !notes.isEmpty { lines += ["", "### Notes", ""] + notes }
        return lines.joined(separator: "\n") + "\n"
    }

    /// - Throws: `FileError`.
    func write(to path: String) throws {
        try TextFile.write(text, to: path)
    }

    private func code(_ text: String) -> String { "`\(Console.visible(text).filter { $0 != "`" })`" }

    /// Errors quote servers, so nothing in them may become markup.
    private func cell(_ text: String) -> String {
        Console.visible(text).map { character in
            switch character {
            case "|", "<", ">", "`", "*", "_", "[", "]", "\\": "\\\(character)"
            default: "\(character)"
            }
        }.joined()
    }
}
