import Dumps
import RemoteSettingsModel

/// The result of `rsdump status`, with the age of each bundle.
struct StatusReport: Encodable {
    let states: [(SurveyedCollection, SurveyedCollection.Freshness)]
    /// The collections in the lock file that `dumps.yaml` does not list.
    let unlisted: [CollectionID]
    let now: Timestamp
    let isOffline: Bool
    let configuration: DumpsConfiguration
    let sizes: SizeComparison
    let missed: MissedRefreshes

    var hasFailures: Bool {
        states.contains { $1 == .tooOld || $1 == .missing || $0.excess != nil } || isOverTotal
    }

    private var isOverTotal: Bool { sizes.total > configuration.totalBudget ?? .max }

    func text(_ style: Style) -> String {
        let width = max("collection".count, states.map { "\($0.0.id)".count }.max() ?? 0)
        let columns: [(title: String, width: Int, isShown: Bool)] = [
            ("collection", width, true), ("bundle", 24, true), ("server", 24, !isOffline), ("age", 8, true),
            ("size", 9, true), ("growth", 10, sizes.problem == nil),
        ]
        func row(_ cells: [String]) -> String {
            zip(columns, cells).filter(\.0.isShown).map { $1.padded(to: $0.width) }.joined(separator: "  ")
        }
        var rows = [style.dim(row(columns.map(\.title)))]
        for (state, freshness) in states {
            rows.append(
                row([
                    "\(state.id)", state.entry.map { Self.time($0.timestamp) } ?? "-",
                    state.serverTimestamp.map(Self.time) ?? "-", state.entry.map { $0.age(at: now).rounded } ?? "-",
                    sizes.size(of: state.id).map(ByteSize.text) ?? "-", growth(of: state.id),
                ])
                    + (state.pin.map { "  \(PinText.sentence($0))" } ?? "") + plan(of: state)
                    + left(of: state, style) + verdict(of: state, freshness, style: style) + excess(of: state, style))
        }
        rows += unlisted.map {
            "\($0)\(style.yellow("  warning: dumps.yaml does not list it; rsdump refresh would remove it"))"
        }
        var total = "\(ByteSize.text(sizes.total)) in all"
        if let budget = configuration.totalBudget { total += ", with a budget of \(ByteSize.text(budget))" }
        if let growth = sizes.totalGrowth {
            total += growth == 0 ? ", unchanged since HEAD" : ", \(Self.change(growth)) since HEAD"
        }
        if isOverTotal { total += style.red("  error: over budget") }
        rows.append(total)
        // List guards only if they differ from the default.
        if configuration.guards != Guards() {
            rows.append("guards: \(configuration.guards.words)")
        }
        for (state, _) in states {
            let guards = configuration.settings(of: state.id).guards
            if guards != configuration.guards { rows.append("guards of \(state.id): \(guards.words)") }
        }
        return rows.map { $0.trimmingSpaces() }.joined(separator: "\n")
    }

    private func growth(of id: CollectionID) -> String {
        sizes.isNew(id) ? "new" : sizes.growth(of: id).map(Self.change) ?? "-"
    }

    private func plan(of state: SurveyedCollection) -> String {
        guard let action = state.action, action != .pinned else { return "" }
        return "  \(action.sentence)"
            + (action.needsWork
                ? missed.sentence(state.serverTimestamp, bundle: state.entry?.timestamp).map { "; \($0)" } ?? "" : "")
    }

    /// Returns the number of refreshes that should have fetched the planned changes, and the time of the first one.
    private func missed(_ state: SurveyedCollection) -> (count: Int, first: Timestamp)? {
        guard state.action?.needsWork == true else { return nil }
        return missed.since(state.serverTimestamp, bundle: state.entry?.timestamp)
    }

    private func verdict(
        of state: SurveyedCollection, _ freshness: SurveyedCollection.Freshness, style: Style
    ) -> String {
        let overdue = state.pin.flatMap(PinText.warning)
        return switch freshness {
        case .fresh: ""
        case .old: style.yellow("  warning: \(overdue ?? "old")")
        case .tooOld where isOffline && overdue == nil:
            style.red("  error: older than --max-age; only the server knows whether it is outdated")
        case .tooOld: style.red("  error: too old\(overdue.map { ", and \($0)" } ?? "")")
        case .missing: style.red("  error: no usable bundle")
        }
    }

    /// Returns a note about the attachments that are not in the bundle. For a pinned collection it is a warning,
    /// because the server may delete them.
    private func left(of state: SurveyedCollection, _ style: Style) -> String {
        guard let sentence = state.entry?.leftToServer else { return "" }
        return state.pin == nil ? "  \(sentence)" : style.yellow("  warning: \(sentence)")
    }

    private func excess(of state: SurveyedCollection, _ style: Style) -> String {
        state.excess.map { style.red("  error: \(Console.visible($0.sentence))") } ?? ""
    }

    func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "server": configuration.server, "offline": isOffline,
            "collections": states.map { Collection(report: self, state: $0, freshness: $1) }, "unlisted": unlisted,
            "totalBytes": sizes.total, "totalGrowthBytes": sizes.totalGrowth,
            "totalBudgetBytes": configuration.totalBudget, "growthUnknown": sizes.problem,
        ])
    }

    private struct Collection: Encodable {
        let report: StatusReport
        let state: SurveyedCollection
        let freshness: SurveyedCollection.Freshness

        func encode(to encoder: any Encoder) throws {
            let missed = report.missed(state)
            try encoder.encode(members: [
                "collection": state.id, "verdict": freshness.rawValue, "timestamp": state.entry?.timestamp,
                "serverTimestamp": state.serverTimestamp,
                "ageSeconds": state.entry?.age(at: report.now).components.seconds, "action": state.action,
                "reason": state.action?.reason, "missedRefreshes": missed?.count,
                "missedSince": missed?.first.rfc3339, "bundleBytes": state.entry?.bundle.size,
                "omitted": state.entry?.omittedAttachments, "growthBytes": report.sizes.growth(of: state.id),
                "budgetBytes": state.budget, "overBudget": state.excess, "pin": state.pin,
                "guards": report.configuration.settings(of: state.id).guards,
            ])
        }
    }

    private static func time(_ timestamp: Timestamp) -> String { "\(timestamp) \(timestamp.rfc3339.prefix(10))" }

    /// Returns a difference in size, such as `+1.4 KiB`, `-20 B` or `=`.
    private static func change(_ bytes: Int64) -> String {
        bytes == 0 ? "=" : (bytes < 0 ? "-" : "+") + ByteSize.text(bytes.magnitude)
    }
}
