import Dumps
import DumpsRefresh
import RemoteSettingsModel

/// A refresh's report as Markdown, for a job's summary or a pull request. Its length is bounded, because GitHub refuses
/// more.
struct RefreshMarkdown {
    let result: RefreshResult

    private var report: RefreshReport { result.report }

    /// The text, of which lines at the end are only counted if there is no room for them.
    var text: String {
        var page = BoundedText(limit: DiffMarkdown.defaultLimit)
        let lines = lines
        for (position, line) in lines.enumerated() {
            guard page.append(line + "\n", reserving: 100) else {
                page.appendLast("\n… and \(Counted.text(lines.count - position, "more line"))\n")
                break
            }
        }
        return page.text
    }

    private var lines: [String] {
        var lines = ["## Remote Settings dumps", ""]
        let changed = report.outcomes.filter { ![.unchanged, .pinned, .failed].contains($0.status) }
        let pinned = report.outcomes.filter { $0.pin != nil }
        let unchanged = report.outcomes.count { $0.status == .unchanged || $0.status == .pinned }
        lines.append(
            "\(changed.count) changed, \(unchanged) unchanged, \(report.failed.count) failed; "
                + "\(Counted.text(report.metrics.requests, "request")) to \(MarkdownText.code(report.server)), "
                + "\(ByteSize.text(UInt64(report.metrics.bodyBytes))) received.")
        if let catalogue = report.catalogue {
            lines += [
                "",
                "This is \(MarkdownText.code(CatalogueText.sentence(catalogue, at: result.now, Style.plain))).",
            ]
        }
        if !changed.isEmpty {
            lines += ["", "| collection | result | details |", "| --- | --- | --- |"]
            for outcome in changed {
                let details = outcome.status == .planned ? outcome.action.sentence : RefreshText.details(outcome)
                let cells = [
                    MarkdownText.cell("\(outcome.id)"), outcome.status.rawValue, MarkdownText.cell(details),
                ]
                lines.append("| \(cells.joined(separator: " | ")) |")
            }
        }
        if !report.unlisted.isEmpty {
            lines += ["", "### Removed, because `dumps.yaml` does not list them", ""]
            lines += report.unlisted.map { "- \(MarkdownText.code("\($0)"))" }
        }
        if !report.failed.isEmpty {
            lines += ["", "### Failed", ""]
            for outcome in report.failed {
                lines.append(item(outcome, outcome.error.map { "\($0)" } ?? ""))
            }
        }
        if let excess = report.excess { lines += ["", "### Over budget", "", MarkdownText.code("\(excess)")] }
        if !pinned.isEmpty { lines += ["", "### Pinned", ""] }
        for outcome in pinned { lines.append(item(outcome, outcome.pin.map(PinText.sentence) ?? "")) }
        let notes = report.outcomes.flatMap { outcome in outcome.notes.map { item(outcome, $0) } }
        if !notes.isEmpty { lines += ["", "### Notes", ""] + notes }
        return lines
    }

    /// A list item for an outcome. Errors quote servers, so their text goes into a code span.
    private func item(_ outcome: CollectionOutcome, _ text: String) -> String {
        "- \(MarkdownText.code("\(outcome.id)")): \(MarkdownText.code(text))"
    }
}
