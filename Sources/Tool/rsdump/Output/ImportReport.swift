import Dumps
import DumpsExchange
import RemoteSettingsModel

/// The result of an import.
struct ImportReport: Encodable {
    let outcomes: [Import.Outcome]

    var status: ExitStatus {
        let status = CommandFailure.status(of: outcomes.map(\.result))
        return [.done, .verificationFailed, .tryAgain].contains(status) ? status : .someFailed
    }

    func text(_ style: Style) -> String {
        let width = outcomes.map { "\($0.id)".count }.max() ?? 0
        var lines: [String] = []
        for outcome in outcomes {
            let name = "\(outcome.id)".padded(to: width)
            switch outcome.result {
            case .success(let taken):
                lines.append("\(name)  \(style.green(taken.rawValue)), \(Self.state(outcome))")
            case .failure(let error):
                lines.append(style.failure(of: outcome.id, padded: width, "\(error)"))
            }
            lines += outcome.notes.map { "  \(style.yellow("note")): \(Console.visible($0))" }
        }
        let taken = outcomes.count { (try? $0.result.get()) != nil }
        lines.append("\(taken) of \(Counted.text(outcomes.count, "collection")) imported")
        return lines.joined(separator: "\n")
    }

    func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: ["collections": outcomes, "exitCode": status.rawValue])
    }

    private static func state(_ outcome: Import.Outcome) -> String {
        guard let snapshot = outcome.snapshot else { return "" }
        return "\(snapshot.provenance.kind.rawValue), at \(snapshot.timestamp.rfc3339)"
    }
}
