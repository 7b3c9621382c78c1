import Dumps
import DumpsRefresh
import RemoteSettingsModel

/// The age of the bundles, as text and as JSON.
struct StatusReport {
    let states: [(SurveyedCollection, SurveyedCollection.Freshness)]
    /// The collections of the lock file that `dumps.yaml` does not list.
    let unlisted: [CollectionID]
    let now: Timestamp
    let isOffline: Bool
    let configuration: DumpsConfiguration
    let sizes: SizeComparison
    let missed: MissedRefreshes
    /// Whether the bundles belong to one catalogue; `nil` if `dumps.yaml` asks for none.
    let catalogue: CatalogueVerification?
    /// Why the catalogue counts as unconfirmed; `nil` if it is confirmed.
    let unconfirmed: String?

    var hasFailures: Bool {
        states.contains { $1 == .tooOld || $1 == .missing || $0.excess != nil } || isOverTotal
            || !(catalogue?.problems ?? []).isEmpty || unconfirmed != nil
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
        rows += unlisted.map { "\($0)\(style.yellow("  warning: dumps.yaml does not list it; it would be removed"))" }
        var total = "\(ByteSize.text(sizes.total)) in all"
        if let budget = configuration.totalBudget { total += " of \(ByteSize.text(budget))" }
        if let growth = sizes.totalGrowth { total += ", \(Self.change(growth)) since HEAD" }
        if isOverTotal { total += style.red("  error: over budget") }
        rows.append(total)
        // Every directory has the default guard, so only others are worth a line.
        if configuration.guards != Guards() {
            rows.append("guards: \(GuardsText.words(configuration.guards))")
        }
        for (state, _) in states {
            let guards = configuration.settings(of: state.id).guards
            if guards != configuration.guards { rows.append("guards of \(state.id): \(GuardsText.words(guards))") }
        }
        if let catalogue {
            if let held = catalogue.catalogue { rows.append(CatalogueText.sentence(held, at: now, style)) }
            if let unconfirmed { rows.append("catalogue\(style.red("  error: \(unconfirmed)"))") }
            rows += catalogue.left.map {
                "\($0)\(style.yellow("  warning: it is pinned to a state that the catalogue does not list"))"
            }
            rows += catalogue.problems.map { "catalogue\(style.red("  error: \(Console.visible($0))"))" }
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

    /// The refreshes that should have fetched what is planned.
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
            style.red("  error: older than --max-age; without --offline, the server says whether that is outdated")
        case .tooOld: style.red("  error: too old\(overdue.map { ", and \($0)" } ?? "")")
        case .missing: style.red("  error: no bundle")
        }
    }

    /// The attachments that are not in the bundle. A pin keeps a state that the server may no longer have.
    private func left(of state: SurveyedCollection, _ style: Style) -> String {
        guard let sentence = state.entry?.leftToServer else { return "" }
        return state.pin == nil ? "  \(sentence)" : style.yellow("  warning: \(sentence)")
    }

    private func excess(of state: SurveyedCollection, _ style: Style) -> String {
        state.excess.map { style.red("  error: \(Console.visible($0.sentence))") } ?? ""
    }

    var json: JSONValue {
        .members([
            "server": .string(configuration.server),
            "offline": .bool(isOffline),
            "catalogue": catalogue.map { CatalogueText.json($0, at: now) },
            "unconfirmed": unconfirmed.map(JSONValue.string),
            "collections": .array(
                states.map { state, freshness in
                    .members([
                        "collection": .string("\(state.id)"),
                        "verdict": .string(freshness.rawValue),
                        "timestamp": state.entry.map { .count($0.timestamp.milliseconds) },
                        "serverTimestamp": state.serverTimestamp.map { .count($0.milliseconds) },
                        "ageSeconds": state.entry.map { .count($0.age(at: now).components.seconds) },
                        "action": state.action.map { .string($0.word) },
                        "reason": state.action?.reason.map(JSONValue.string),
                        "missedRefreshes": missed(state).map { .count($0.count) },
                        "missedSince": missed(state).map { .string($0.first.rfc3339) },
                        "bundleBytes": state.entry.map { .count($0.bundle.size) },
                        "omitted": state.entry.map { .count($0.omittedAttachments) },
                        "growthBytes": sizes.growth(of: state.id).map { .count($0) },
                        "budgetBytes": state.budget.map { .count($0) },
                        "overBudget": state.excess.map(RefreshJSON.excess),
                        "pin": state.pin.map(PinText.json),
                        "guards": GuardsText.json(configuration.settings(of: state.id).guards),
                    ])
                }),
            "unlisted": .array(unlisted.map { .string("\($0)") }),
            "totalBytes": .count(sizes.total),
            "totalGrowthBytes": sizes.totalGrowth.map { .count($0) },
            "totalBudgetBytes": configuration.totalBudget.map { .count($0) },
            "growthUnknown": sizes.problem.map(JSONValue.string),
        ])
    }

    private static func time(_ timestamp: Timestamp) -> String { "\(timestamp) \(timestamp.rfc3339.prefix(10))" }

    /// Examples: `+1.4 KiB`, `-20 B` and `=`.
    private static func change(_ bytes: Int64) -> String {
        bytes == 0 ? "=" : (bytes < 0 ? "-" : "+") + ByteSize.text(bytes.magnitude)
    }
}

extension Duration {
    /// The duration in the largest unit of which it has at least two.
    var rounded: String {
        let seconds = components.seconds
        if seconds >= 2 * 86_400 { return "\(seconds / 86_400) d" }
        if seconds >= 2 * 3600 { return "\(seconds / 3600) h" }
        return seconds >= 120 ? "\(seconds / 60) min" : "\(seconds) s"
    }
}

extension String {
    /// The text without the spaces that a table's last column leaves at its end.
    fileprivate func trimmingSpaces() -> String {
        var text = self[...]
        while text.last == " " { text = text.dropLast() }
        return String(text)
    }
}
