import SnapshotTrust
import Dumps
import DumpsRefresh
import RemoteSettingsModel

/// The result of a verification, as text and as JSON.
struct VerifyReport {
    let outcomes: [Verification.Outcome]
    /// Whether the bundles belong to one catalogue; `nil` if that was not checked.
    let catalogue: CatalogueVerification?
    let now: Timestamp
    /// Files that are not in the lock; `nil` if they were not looked for.
    let strays: [String]?
    /// The collections of the lock file that dumps.yaml does not list; `nil` if they were not compared.
    let unlisted: [CollectionID]?
    /// What dumps.yaml asks for and the lock does not have; `nil` if they were not compared.
    let disagreements: [(id: CollectionID, action: PlannedCollection.Action)]?
    /// The violations of guards; `nil` if they were not checked.
    let guarded: [(id: CollectionID, violations: [GuardViolation])]?
    /// Why the catalogue's last confirmation is too old; `nil` if `dumps.yaml` has no limit, or a higher one.
    let tooOld: String?
    /// The amount by which all bundles together exceed their budget.
    let excess: BudgetExcess?

    var isWithinBudget: Bool { excess == nil && outcomes.allSatisfy { $0.excess == nil } }

    var passesGuards: Bool { (guarded ?? []).isEmpty }

    var isGood: Bool {
        outcomes.allSatisfy { $0.verdict.isGood } && (strays ?? []).isEmpty && (unlisted ?? []).isEmpty
            && (disagreements ?? []).isEmpty
            && (catalogue?.problems ?? []).isEmpty
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
                return "\(name)  \(style.red("failed")): \(Console.visible(outcome.verdict.message ?? ""))"
            }
        }
        lines += (strays ?? []).map { stray in
            "\(Console.visible(stray))  \(style.red("failed")): it is not in the lock; remove it, or move it elsewhere"
        }
        lines += (unlisted ?? []).map { id in
            "\("\(id)".padded(to: width))  \(style.red("failed")): dumps.yaml does not list it; rsdump refresh removes it"
        }
        lines += (disagreements ?? []).map { id, action in
            "\("\(id)".padded(to: width))  \(style.red("failed")): dumps.yaml asks for something other than the lock "
                + "has; with rsdump refresh it \(action.sentence)"
                + (action.isRefetch ? "; where it is published, run rsdump publish --resign" : "")
        }
        for (id, violations) in guarded ?? [] {
            lines += violations.map {
                "\("\(id)".padded(to: width))  \(style.red("failed")): guard \(Console.visible("\($0)"))"
            }
        }
        if let catalogue {
            lines += catalogue.problems.map { "catalogue  \(style.red("failed")): \(Console.visible($0))" }
            lines += catalogue.left.map {
                "\($0)  \(style.yellow("note")): it is pinned to a state that the catalogue does not list"
            }
            if let held = catalogue.catalogue, catalogue.problems.isEmpty {
                lines.append(CatalogueText.sentence(held, at: now, style))
                if let tooOld { lines.append("catalogue  \(style.red("failed")): \(tooOld)") }
            }
        }
        let good = outcomes.count { $0.verdict.isGood }
        if let excess { lines.append("\(style.red("error")): \(excess.sentence)") }
        let isWhole = isGood || good < outcomes.count
        lines.append(
            "\(good) of \(Counted.text(outcomes.count, "bundle")) verified"
                + (isWhole ? "" : ", but other checks failed, as listed above"))
        return lines.joined(separator: "\n")
    }

    /// - Parameter rebuilt: the result of `--rebuild`; `nil` without it.
    func json(rebuilt: JSONValue?) -> JSONValue {
        .members([
            "verified": .bool(isGood),
            "rebuild": rebuilt,
            "catalogue": catalogue.map { CatalogueText.json($0, at: now) },
            "catalogueTooOld": tooOld.map(JSONValue.string),
            "unexpectedFiles": strays.map { .array($0.map(JSONValue.string)) },
            "unlisted": unlisted.map { .array($0.map { .string("\($0)") }) },
            "disagreements": disagreements.map { disagreements in
                .array(
                    disagreements.map { id, action in
                        .members([
                            "collection": .string("\(id)"), "action": .string(action.word),
                            "reason": action.reason.map(JSONValue.string),
                        ])
                    })
            },
            "guards": guarded.map { guarded in
                .array(
                    guarded.map { id, violations in
                        .members([
                            "collection": .string("\(id)"),
                            "violations": .array(violations.map(GuardsText.json)),
                        ])
                    })
            },
            "overBudget": excess.map(RefreshJSON.excess),
            "collections": .array(
                outcomes.map { outcome in
                    .members([
                        "collection": .string("\(outcome.id)"),
                        "status": .string(outcome.verdict.word),
                        "error": outcome.verdict.message.map(JSONValue.string),
                        "overBudget": outcome.excess.map(RefreshJSON.excess),
                        "pinnedAt": outcome.pin.map { .count($0.at.milliseconds) },
                        "entry": outcome.entry.map(LockJSON.entry),
                    ])
                }),
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

extension Verification.Outcome.Verdict {
    var isGood: Bool {
        if case .good = self { true } else { false }
    }

    var word: String {
        switch self {
        case .good: "verified"
        case .interrupted: "interrupted"
        case .missing: "missing"
        case .bad: "failed"
        }
    }

    var message: String? {
        switch self {
        case .good: nil
        case .interrupted:
            "a commit was interrupted; the new bundle is complete, but not in the lock file yet; run rsdump refresh"
        case .missing: "it has never been fetched; run rsdump refresh"
        case .bad(let error as ContentSignatureError): "\(error); to fetch it again, run rsdump refresh --full"
        case .bad(let error): "\(error)"
        }
    }
}
