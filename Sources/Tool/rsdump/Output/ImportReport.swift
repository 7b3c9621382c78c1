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
        var lines = outcomes.flatMap { outcome in
            style.lines(of: outcome.id, padded: width, outcome.result, notes: outcome.notes) { taken in
                "\(style.green(taken.rawValue)), \(Self.state(outcome))"
            }
        }
        let taken = outcomes.count { (try? $0.result.get()) != nil }
        lines.append("\(taken) of \(Counted.text(outcomes.count, "collection")) imported")
        return lines.joined(separator: "\n")
    }

    func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: ["collections": outcomes, "exitCode": status.rawValue])
    }

    private static func state(_ outcome: Import.Outcome) -> String {
        outcome.snapshot.map { "\($0.provenance.kind.rawValue), at \($0.timestamp.rfc3339)" } ?? ""
    }
}
