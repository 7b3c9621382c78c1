import Dumps
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
        let changed = report.outcomes.filter { ![.unchanged, .pinned, .failed, .acknowledged].contains($0.status) }
        let pinned = report.outcomes.filter { $0.pin != nil }
        let unchanged = report.outcomes.count { $0.status == .unchanged || $0.status == .pinned }
        lines.append(
            "\(changed.count) changed, \(unchanged) unchanged, \(report.failed.count) failed\(acknowledged); "
                + "\(Counted.text(report.metrics.requests, "request")) to \(MarkdownText.code(report.server)), "
                + "\(ByteSize.text(UInt64(report.metrics.bodyBytes))) received.")
        if let catalogue = report.catalogue {
            lines += [
                "",
                "This is \(MarkdownText.code(CatalogueText.sentence(catalogue, at: result.now, Style.plain))).",
            ]
        }
        // Whoever reads a job's page looks for failures first, and for a wrong signature before all others.
        let signatures = report.failed.filter { [.signature, .signatureLost].contains($0.error?.kind) }
        let others = report.failed.filter { ![.signature, .signatureLost].contains($0.error?.kind) }
        if !signatures.isEmpty { lines += ["", "### Signature failures", ""] + failures(signatures) }
        if !others.isEmpty { lines += ["", "### Failed", ""] + failures(others) }
        if !changed.isEmpty {
            if !report.failed.isEmpty { lines += ["", "### Changed"] }
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
        if !report.acknowledged.isEmpty { lines += ["", "### Acknowledged failures", ""] }
        for outcome in report.acknowledged { lines.append(item(outcome, RefreshText.acknowledged(outcome))) }
        if let excess = report.excess { lines += ["", "### Over budget", "", MarkdownText.code("\(excess)")] }
        if !pinned.isEmpty { lines += ["", "### Pinned", ""] }
        for outcome in pinned { lines.append(item(outcome, outcome.pin.map(PinText.sentence) ?? "")) }
        let notes = report.outcomes.flatMap { outcome in outcome.notes.map { item(outcome, $0) } }
        if !notes.isEmpty { lines += ["", "### Notes", ""] + notes }
        return lines
    }

    private var acknowledged: String {
        report.acknowledged.isEmpty ? "" : ", \(report.acknowledged.count) failed as acknowledged in `dumps.yaml`"
    }

    /// A list item for each cause, with all collections that failed for it.
    private func failures(_ failed: [CollectionOutcome]) -> [String] {
        var groups: [[CollectionOutcome]] = []
        var positions: [Bytes: Int] = [:]
        for outcome in failed {
            let key = Bytes(utf8: cause(outcome))
            if let position = positions[key] {
                groups[position].append(outcome)
            } else {
                positions[key] = groups.count
                groups.append([outcome])
            }
        }
        return groups.map { group in
            guard group.count > 1 else { return item(group[0], group[0].error.map { "\($0)" } ?? "") }
            let names = group.map { MarkdownText.code("\($0.id)") }.joined(separator: ", ")
            return "- \(Counted.text(group.count, "collection")) for the same cause: "
                + "\(MarkdownText.code(cause(group[0])))\n  - \(names)"
        }
    }

    /// The error's text without the collection's name or address, with which it begins.
    private func cause(_ outcome: CollectionOutcome) -> String {
        let words = outcome.error.map { "\($0)" }?.split(separator: " ", maxSplits: 1) ?? []
        guard words.count == 2 else { return words.joined() }
        let first = Bytes(utf8: String(words[0]))
        let isItsName = first == Bytes(utf8: "\(outcome.id)") || first == Bytes(utf8: "\(outcome.id):")
        return isItsName || words[0].hasPrefix("http://") || words[0].hasPrefix("https://")
            ? String(words[1]) : words.joined(separator: " ")
    }

    /// A list item for an outcome. Errors quote servers, so their text goes into a code span.
    private func item(_ outcome: CollectionOutcome, _ text: String) -> String {
        "- \(MarkdownText.code("\(outcome.id)")): \(MarkdownText.code(text))"
    }
}
