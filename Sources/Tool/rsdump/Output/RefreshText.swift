import Dumps
import RemoteSettingsModel

/// A refresh's report for people.
struct RefreshText {
    let result: RefreshResult
    let style: Style

    private var report: RefreshReport { result.report }

    var text: String {
        let width = report.outcomes.map { "\($0.id)".count }.max() ?? 0
        var lines: [String] = report.recovered.map { "\($0): completed the commit of an interrupted run" }
        lines += report.unlisted.map { id in
            "\(id): \(report.isDryRun ? "would be removed" : "removed"), because dumps.yaml does not list it"
        }
        for outcome in report.outcomes where outcome.status != .unchanged || !outcome.notes.isEmpty {
            lines.append(line(outcome, width))
            lines += outcome.notes.map { "\(String(repeating: " ", count: width))  note: \(Console.visible($0))" }
        }
        if let excess = report.excess { lines.append("\(style.red("over budget")): \(excess)") }
        lines.append(total)
        if report.isLocked {
            lines.append(report.wouldChange ? style.red("something would change") : style.green("nothing would change"))
        }
        return lines.joined(separator: "\n") + HooksReport.text(result.hooks)
    }

    private func line(_ outcome: CollectionOutcome, _ width: Int) -> String {
        let name = "\(outcome.id)".padded(to: width)
        if outcome.status == .acknowledged { return "\(name)  \(Console.visible(Self.acknowledged(outcome)))" }
        if let error = outcome.error { return style.failure(of: outcome.id, padded: width, "\(error)") }
        if outcome.status == .planned { return "\(name)  \(outcome.action.sentence)" }
        if outcome.status == .pinned, let pin = outcome.pin { return "\(name)  \(PinText.sentence(pin))" }
        return "\(name)  \(style.green(outcome.status.rawValue)), \(outcome.details)"
    }

    /// Returns text such as `acknowledged until 2026-12-31 (bug 1234): attachment …`.
    static func acknowledged(_ outcome: CollectionOutcome) -> String {
        guard let known = outcome.acknowledgement, let error = outcome.error else { return "" }
        return "acknowledged until \(Pin.dateText(known.until))\(known.reason.map { " (\($0))" } ?? ""): \(error)"
    }

    private var total: String {
        let words = report.outcomes.map(\.status.rawValue)
        let counts = words.uniqued().map { word in "\(words.count { $0 == word }) \(word)" }
        return "\(Counted.text(words.count, "collection")): \(counts.joined(separator: ", "))"
            + "; \(Counted.text(report.metrics.requests, "request")), "
            + "\(ByteSize.text(UInt64(report.metrics.bodyBytes))) received"
    }
}

/// Descriptions of the results of the `--on-change` commands.
enum HooksReport {
    /// Returns a short name for the command. The command line is not shown, because it may contain a secret.
    static func name(_ outcome: ChangeHooks.Outcome) -> String { "command \(outcome.position) of --on-change" }

    /// Returns a line for each notified command, each preceded by a line feed.
    static func text(_ outcomes: [ChangeHooks.Outcome]) -> String {
        outcomes.filter { $0.status == "told" }.map { outcome in
            let count = Counted.text(outcome.change.collections.count, "collection")
            return "\n\(name(outcome)) was notified: \(count) changed"
        }.joined()
    }
}
