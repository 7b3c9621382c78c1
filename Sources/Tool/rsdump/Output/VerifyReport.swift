import SnapshotBundle
import Dumps
import RemoteSettingsModel

/// The result of a verification.
struct VerifyReport: Encodable {
    let outcomes: [Verification.Outcome]
    /// What `dumps.yaml` trusts beyond the commit of --trust-from; `nil` if this was not checked.
    let weakened: [String]?
    /// The files that are not in the lock file; `nil` if this was not checked.
    let strays: [StrayFile]?
    /// The collections in the lock file that `dumps.yaml` does not list; `nil` if this was not checked.
    let unlisted: [CollectionID]?
    /// The requirements of `dumps.yaml` that the lock file does not meet; `nil` if this was not checked.
    let disagreements: [Survey.Disagreement]?
    /// The violated guards; `nil` if they were not checked.
    let guarded: [Verification.Guarded]?
    /// The amount by which the total size of all bundles exceeds its budget; `nil` if it does not.
    let excess: BudgetExcess?
    /// The result of `--rebuild`; `nil` without it.
    let rebuilt: RebuildReport?

    var isWithinBudget: Bool { excess == nil && outcomes.allSatisfy { $0.excess == nil } }

    var passesGuards: Bool { (guarded ?? []).allSatisfy(\.violations.isEmpty) }

    var isGood: Bool {
        outcomes.allSatisfy { $0.verdict.isGood } && (strays ?? []).isEmpty && (unlisted ?? []).isEmpty
            && (weakened ?? []).isEmpty && (disagreements ?? []).isEmpty
            && (guarded ?? []).allSatisfy { $0.problem == nil }
    }

    func text(_ style: Style) -> String {
        let width = outcomes.map { "\($0.id)".count }.max() ?? 0
        var lines = outcomes.map { outcome in
            let name = "\(outcome.id)".padded(to: width)
            switch outcome.verdict {
            case .good:
                return "\(name)  \(style.green("verified")), \(Self.trust(outcome))"
                    + (outcome.pin == nil ? "" : ", pinned")
                    + (outcome.excess.map { "\n  \(style.red("error")): \(Console.visible($0.sentence))" } ?? "")
            case .interrupted, .missing, .bad:
                return style.failure(of: outcome.id, padded: width, outcome.verdict.message ?? "")
            }
        }
        lines += (weakened ?? []).map { "dumps.yaml  \(style.red("failed")): \(Console.visible($0))" }
        lines += (strays ?? []).map { stray in
            "\(Console.visible(stray.path))  \(style.red("failed")): \(Console.visible(stray.problem))"
        }
        lines += (unlisted ?? []).map { id in
            style.failure(of: id, padded: width, "dumps.yaml does not list it; rsdump refresh would remove it")
        }
        lines += (disagreements ?? []).map { each in
            style.failure(
                of: each.collection, padded: width,
                "it \(each.action.sentence); run rsdump refresh"
                    + (each.action.isRefetch ? ", or rsdump publish --resign if you publish it" : ""))
        }
        for each in guarded ?? [] {
            let problem = each.problem.map { "guards cannot compare it with its earlier state: \($0)" }
            lines += (each.violations.map { "guard \($0)" } + [problem].compactMap(\.self)).map {
                style.failure(of: each.collection, padded: width, $0)
            }
        }
        let good = outcomes.count { $0.verdict.isGood }
        if let excess { lines.append("\(style.red("error")): \(excess.sentence)") }
        let isWhole = isGood || good < outcomes.count
        lines.append(
            "\(good) of \(Counted.text(outcomes.count, "bundle")) verified"
                + (isWhole ? "" : ", but other checks failed, as listed above"))
        if let rebuilt { lines.append(rebuilt.text(style)) }
        return lines.joined(separator: "\n")
    }

    func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "verified": isGood, "rebuild": rebuilt, "weakenedTrust": weakened, "unexpectedFiles": strays,
            "unlisted": unlisted,
            "disagreements": disagreements, "guards": guarded, "overBudget": excess, "collections": outcomes,
        ])
    }

    private static func trust(_ outcome: Verification.Outcome) -> String {
        guard let entry = outcome.entry else { return "" }
        let counts = "\(Counted.text(entry.records, "record")), \(Counted.text(entry.attachments, "attachment"))"
        switch entry.trust {
        case .signed(let signature):
            return "\(counts), signed by \(signature.signer), root \(signature.root.hex.prefix(16))…, "
                + "at \(signature.verifiedAt.rfc3339)"
        case .unsigned: return "\(counts), unsigned"
        case .imported: return "\(counts), imported without a signature"
        }
    }
}
