import Dumps
import DumpsExchange
import RemoteSettingsModel

/// The result of an import, as text and as JSON.
struct ImportReport {
    let outcomes: [Import.Outcome]

    var status: ExitStatus {
        let failures = outcomes.compactMap { outcome -> CommandFailure? in
            if case .failure(let error) = outcome.result { CommandFailure(error) } else { nil }
        }
        guard let first = failures.first else { return .done }
        let isSame = failures.allSatisfy { $0.status == first.status }
        return isSame && [.verificationFailed, .tryAgain].contains(first.status) ? first.status : .someFailed
    }

    func text(_ style: Style) -> String {
        let width = outcomes.map { "\($0.id)".count }.max() ?? 0
        var lines: [String] = []
        for outcome in outcomes {
            let name = "\(outcome.id)".padded(to: width)
            switch outcome.result {
            case .success(let taken):
                lines.append("\(name)  \(style.green(Self.word(taken))), \(Self.state(outcome))")
            case .failure(let error):
                lines.append("\(name)  \(style.red("failed")): \(Console.visible("\(error)"))")
            }
            lines += outcome.notes.map { "  \(style.yellow("note")): \(Console.visible($0))" }
        }
        let taken = outcomes.count { (try? $0.result.get()) != nil }
        lines.append("\(taken) of \(Counted.text(outcomes.count, "collection")) imported")
        return lines.joined(separator: "\n")
    }

    var json: JSONValue {
        .members([
            "collections": .array(
                outcomes.map { outcome in
                    var status = "failed"
                    var message: String?
                    switch outcome.result {
                    case .success(let taken): status = Self.word(taken)
                    case .failure(let error): message = "\(error)"
                    }
                    return .members([
                        "collection": .string("\(outcome.id)"), "status": .string(status),
                        "timestamp": outcome.snapshot.map { .count($0.timestamp.milliseconds) },
                        "trust": outcome.snapshot.map { .string(Self.trust($0)) },
                        "notes": outcome.notes.isEmpty ? nil : .array(outcome.notes.map(JSONValue.string)),
                        "error": message.map(JSONValue.string),
                    ])
                }),
            "exitCode": .count(status.rawValue),
        ])
    }

    private static func word(_ outcome: DumpsTransaction.Taken) -> String {
        switch outcome {
        case .created: "created"
        case .updated: "updated"
        case .unchanged: "unchanged"
        }
    }

    private static func state(_ outcome: Import.Outcome) -> String {
        guard let snapshot = outcome.snapshot else { return "" }
        return "\(trust(snapshot)), at \(snapshot.timestamp.rfc3339)"
    }

    private static func trust(_ snapshot: Snapshot) -> String {
        switch snapshot.provenance {
        case .signed: "signed"
        case .unsigned: "unsigned"
        case .imported: "imported"
        }
    }
}
