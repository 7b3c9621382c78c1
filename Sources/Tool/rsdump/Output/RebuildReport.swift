import Dumps
import RemoteSettingsModel

/// The result of rebuilding bundles, as text and as JSON.
struct RebuildReport {
    let outcomes: [Rebuild.Outcome]

    var isGood: Bool { outcomes.allSatisfy { $0.verdict.isGood } }

    private var errors: [any Error] {
        outcomes.compactMap { if case .failed(let error) = $0.verdict { error } else { nil } }
    }

    /// Whether every bundle could be rebuilt, with whatever bytes.
    var isComplete: Bool { errors.isEmpty }

    /// Whether files of this machine are the only cause of failures.
    var isStoppedByFiles: Bool { !errors.isEmpty && errors.allSatisfy(\.isOfMachine) }

    func text(_ style: Style) -> String {
        let width = outcomes.map { "\($0.id)".count }.max() ?? 0
        var lines = outcomes.map { outcome in
            let name = "\(outcome.id)".padded(to: width)
            return switch outcome.verdict {
            case .identical: "\(name)  \(style.green("identical")), \(outcome.entry.bundle.size) bytes"
            case .sameContent(let size, _):
                "\(name)  \(style.yellow("same content, other bytes")): \(size) bytes, "
                    + "\(outcome.entry.bundle.size) in the lock; another version of zlib wrote the locked bundle"
            case .different, .failed:
                "\(name)  \(style.red("failed")): \(Console.visible(outcome.verdict.message ?? ""))"
            }
        }
        let identical = outcomes.count { $0.verdict.word == "identical" }
        lines.append("\(identical) of \(Counted.text(outcomes.count, "bundle")) rebuilt to the same bytes")
        return lines.joined(separator: "\n")
    }

    var json: JSONValue {
        .members([
            "identical": .bool(isGood),
            "collections": .array(
                outcomes.map { outcome in
                    .members([
                        "collection": .string("\(outcome.id)"),
                        "status": .string(outcome.verdict.word),
                        "content": .string(outcome.entry.content.hex),
                        "lockedBundle": .members([
                            "size": .count(outcome.entry.bundle.size),
                            "sha256": .string(outcome.entry.bundle.sha256.hex),
                        ]),
                        "rebuiltBundle": outcome.verdict.other.map { size, digest in
                            .members(["size": .count(size), "sha256": .string(digest.hex)])
                        },
                        "error": outcome.verdict.message.map(JSONValue.string),
                    ])
                }),
        ])
    }
}

extension Rebuild.Verdict {
    var isGood: Bool {
        switch self {
        case .identical: true
        case .sameContent, .different, .failed: false
        }
    }

    var word: String {
        switch self {
        case .identical: "identical"
        case .sameContent: "same-content"
        case .different: "different"
        case .failed: "failed"
        }
    }

    var other: (size: Int, sha256: SHA256Digest)? {
        if case .sameContent(let size, let sha256) = self { (size, sha256) } else { nil }
    }

    var message: String? {
        switch self {
        case .identical, .sameContent: nil
        case .different(let content):
            "expected the same content, found \(content); please report this as a bug of rsdump"
        case .failed(let error): "\(error)"
        }
    }
}
