import RemoteSettingsModel

/// A refresh's report as Markdown, for a job's summary or a pull request. Its length is limited, because GitHub refuses
/// longer texts.
package struct RefreshMarkdown {
    private let report: RefreshReport
    private let now: Timestamp
    private let failingSince: [CollectionID: String]
    private let supersededSince: [CollectionID: String]

    /// Creates the Markdown of a report.
    ///
    /// - Parameters:
    ///   - failingSince: the days on which failures began, if they are known.
    ///   - supersededSince: the days on which the server first had a newer state than a pin, if they are known.
    package init(
        _ report: RefreshReport, now: Timestamp, failingSince: [CollectionID: String] = [:],
        supersededSince: [CollectionID: String] = [:]
    ) {
        self.report = report
        self.now = now
        self.failingSince = failingSince
        self.supersededSince = supersededSince
    }

    /// The Markdown text. The lines beyond the limit are replaced by a count of them.
    package var text: String {
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
        var lines = ["## Remote Settings dumps", "", heading, "", totals]
        // Invalid signatures come before all other failures.
        for each in FailureGroup.allCases {
            let failed = report.failed.filter { $0.error.map { FailureGroup(FailureClass($0)) } == each }
            if !failed.isEmpty { lines += ["", "### \(each.title)", "", each.advice, ""] + failures(failed) }
        }
        if !report.acknowledged.isEmpty {
            lines += ["", "### Acknowledged failures", ""]
            lines += [
                "`dumps.yaml` lists these as known. After the date given there, they count as failures again.", "",
            ]
            lines += report.acknowledged.flatMap(acknowledged)
        }
        lines += changes
        if !report.unlisted.isEmpty {
            lines += ["", "### Removed, because `dumps.yaml` does not list them", ""]
            lines += report.unlisted.map { "- \(MarkdownText.code("\($0)"))" }
        }
        if let excess = report.excess { lines += ["", "### Over budget", "", MarkdownText.prose("\(excess)")] }
        lines += pins
        let others = report.outcomes.filter { $0.error == nil }
        let notes = others.flatMap { outcome in outcome.notes.map { item(outcome, $0) } }
        if !notes.isEmpty { lines += ["", "### Notes", ""] + notes }
        return lines
    }

    /// One line for all pins at the server's state, and one for each of the others.
    private var pins: [String] {
        let pinned = report.outcomes.compactMap { outcome in outcome.pin.map { (outcome, $0) } }
        guard !pinned.isEmpty else { return [] }
        let current = pinned.filter { $1.isCurrent && !$1.isOverdue }.map { "\($0.0.id)" }
        return ["", "### Pinned", ""]
            + (current.isEmpty
                ? [] : ["- at the server's current state: \(current.map(MarkdownText.code).joined(separator: ", "))"])
            + pinned.filter { !$1.isCurrent || $1.isOverdue }.map { outcome, pin in
                let since = pin.isSuperseded ? supersededSince[outcome.id] : nil
                return item(outcome, PinText.sentence(pin)) + (since.map { "; superseded since \($0)" } ?? "")
            }
    }

    private var heading: String {
        let time = now.rfc3339
        return "Refreshed at \(time.prefix(10)) \(time.dropFirst(11).prefix(5)) UTC from "
            + "\(MarkdownText.code(report.server)): \(Counted.text(report.metrics.requests, "request")), "
            + "\(ByteSize.text(UInt64(report.metrics.bodyBytes))) received."
    }

    private var changed: [CollectionOutcome] {
        report.outcomes.filter { ![.unchanged, .pinned, .failed, .acknowledged].contains($0.status) }
    }

    private var totals: String {
        let total = report.outcomes.count
        let current = report.outcomes.count { $0.status == .unchanged }
        let counts = [
            (changed.count, report.isDryRun ? "would change" : "changed"), (report.failed.count, "failed"),
            (report.acknowledged.count, "failed as acknowledged in `dumps.yaml`"),
            (report.outcomes.count { $0.status == .pinned }, "pinned"),
        ].filter { $0.0 > 0 }
        if counts.isEmpty {
            return total == 1 ? "The collection is up to date." : "All \(total) collections are up to date."
        }
        let words = counts.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        let rest = "the other \(current) \(current == 1 ? "is" : "are") up to date"
        return "Of \(Counted.text(total, "collection")), \(words)\(current == 0 ? "" : "; \(rest)")."
    }

    private var changes: [String] {
        guard !changed.isEmpty else { return [] }
        var lines = ["", "### \(report.isDryRun ? "Would change" : "Changed")", ""]
        lines += ["| collection | result | details |", "| --- | --- | --- |"]
        for outcome in changed {
            let details = outcome.status == .planned ? outcome.action.sentence : outcome.details
            let cells = [MarkdownText.cell("\(outcome.id)"), outcome.status.rawValue, MarkdownText.cell(details)]
            lines.append("| \(cells.joined(separator: " | ")) |")
        }
        return lines
    }

    /// Returns a list item for each reason, with all collections that failed for it.
    private func failures(_ failed: [CollectionOutcome]) -> [String] {
        var groups: [[CollectionOutcome]] = []
        var positions: [Bytes: Int] = [:]
        for outcome in failed {
            let key = Bytes(utf8: reason(outcome))
            if let position = positions[key] {
                groups[position].append(outcome)
            } else {
                positions[key] = groups.count
                groups.append([outcome])
            }
        }
        return groups.flatMap { group in
            guard group.count > 1 else { return [state(group[0])] + details(group[0]) }
            let count = Counted.text(group.count, "collection")
            return ["- \(count) for the same reason: \(MarkdownText.prose(reason(group[0])))"]
                + group.flatMap { outcome in ["  " + state(outcome)] + notes(outcome).map { "  " + $0 } }
        }
    }

    /// Returns a list item with the failed collection, the state that it keeps, and the day of its first failure.
    private func state(_ outcome: CollectionOutcome) -> String {
        let kept =
            outcome.previous.map { "keeps its current bundle (data of \($0.rfc3339.prefix(10)))" }
            ?? "has no bundle yet"
        let since = failingSince[outcome.id].map { "; failing since \($0)" } ?? ""
        return "- \(MarkdownText.code("\(outcome.id)")) \(kept)\(since)"
    }

    private func details(_ outcome: CollectionOutcome) -> [String] {
        let url = outcome.error.flatMap { $0.place.hasPrefix("http") ? $0.place : nil }
        return ["  - reason: \(MarkdownText.prose(reason(outcome)))"]
            + (url.map { ["  - URL: \(MarkdownText.code($0))"] } ?? []) + notes(outcome)
    }

    /// Returns the error of an outcome, without the collection's name and the URL, which are shown beside it.
    private func reason(_ outcome: CollectionOutcome) -> String {
        guard let error = outcome.error else { return "" }
        let isShown = error.place.hasPrefix("http") || Bytes(utf8: error.place) == Bytes(utf8: "\(outcome.id)")
        let text = isShown ? error.withoutPlace : "\(error)"
        return text.hasPrefix("\(outcome.id) ") ? String(text.dropFirst("\(outcome.id) ".count)) : text
    }

    private func notes(_ outcome: CollectionOutcome) -> [String] {
        outcome.notes.map { "  - note: \(MarkdownText.prose($0))" }
    }

    private func acknowledged(_ outcome: CollectionOutcome) -> [String] {
        guard let known = outcome.acknowledgement else { return [] }
        let why = known.reason.map { ": \(MarkdownText.prose($0))" } ?? ""
        return [
            state(outcome),
            "  - acknowledged in `dumps.yaml` until \(Pin.dateText(known.until)) (error "
                + "`\(known.kind.rawValue)`)\(why)",
        ] + details(outcome)
    }

    /// Returns a list item for an outcome. The text may be untrusted, so it is escaped.
    private func item(_ outcome: CollectionOutcome, _ text: String) -> String {
        "- \(MarkdownText.code("\(outcome.id)")): \(MarkdownText.prose(text))"
    }
}
