import Dumps
import RemoteSettingsModel

/// The result of rebuilding bundles.
struct RebuildReport: Encodable {
    let outcomes: [Rebuild.Outcome]

    var isGood: Bool { outcomes.allSatisfy { $0.verdict.isGood } }

    private var errors: [any Error] {
        outcomes.compactMap { if case .failed(let error) = $0.verdict { error } else { nil } }
    }

    /// Whether every bundle could be rebuilt, even if its bytes differ.
    var isComplete: Bool { errors.isEmpty }

    /// Whether all failures are due to files on this machine, such as a full disk.
    var isStoppedByFiles: Bool { !errors.isEmpty && errors.allSatisfy(\.isOfMachine) }

    func text(_ style: Style) -> String {
        let width = outcomes.map { "\($0.id)".count }.max() ?? 0
        var lines = outcomes.map { outcome in
            let name = "\(outcome.id)".padded(to: width)
            return switch outcome.verdict {
            case .identical: "\(name)  \(style.green("identical")), \(outcome.entry.bundle.size) bytes"
            case .sameContent(let size, _):
                "\(name)  \(style.yellow("same content, different bytes")): \(size) bytes, "
                    + "\(outcome.entry.bundle.size) in the lock file; that bundle was written with a different "
                    + "version of zlib"
            case .different, .failed:
                style.failure(of: outcome.id, padded: width, outcome.verdict.message ?? "")
            }
        }
        let identical = outcomes.count { $0.verdict.word == "identical" }
        lines.append("\(identical) of \(Counted.text(outcomes.count, "bundle")) rebuilt to the same bytes")
        return lines.joined(separator: "\n")
    }

    func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: ["identical": isGood, "collections": outcomes])
    }
}
