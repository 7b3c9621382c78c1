import RemoteSettingsModel
import SnapshotBuilder

/// How old the bundles are, as text and as JSON.
struct StatusReport {
    struct Line {
        enum Verdict: String {
            case fresh
            case old
            case tooOld = "too-old"
            case missing
        }

        let state: CollectionState
        let age: Duration?
        let verdict: Verdict

        init(_ state: CollectionState, now: Timestamp, warnAge: Age, maxAge: Age?) {
            self.state = state
            age = state.entry.map { now.elapsed(since: $0.verifiedAt ?? $0.timestamp) }
            verdict =
                switch age {
                case nil: .missing
                case let age? where !state.hasBundle && age >= .zero: .missing
                case let age? where maxAge.map { age > $0.duration } ?? false: .tooOld
                case let age? where age > warnAge.duration: .old
                default: .fresh
                }
        }
    }

    let lines: [Line]
    let isOffline: Bool
    let server: String

    func text(_ style: Style) -> String {
        let width = lines.map { "\($0.state.id)".count }.max() ?? 0
        var rows = lines.map { line in
            let name = "\(line.state.id)".padded(to: width)
            let held = line.state.entry.map { Self.time($0.timestamp) } ?? "-"
            let server = line.state.serverTimestamp.map(Self.time) ?? "-"
            let age = (line.age.map(Self.age) ?? "-").padded(to: 8)
            let verdict =
                switch line.verdict {
                case .fresh: ""
                case .old: style.yellow("  warning: old")
                case .tooOld: style.red("  error: too old")
                case .missing: style.red("  error: no bundle")
                }
            let plan = line.state.action.map { "  \($0.sentence)" } ?? ""
            return "\(name)  \(held.padded(to: 24))"
                + (isOffline ? "" : "  \(server.padded(to: 24))") + "  \(age)\(plan)\(verdict)"
        }
        let heading =
            "collection".padded(to: width) + "  " + "bundle".padded(to: 24)
            + (isOffline ? "" : "  " + "server".padded(to: 24)) + "  age"
        rows.insert(style.dim(heading), at: 0)
        return rows.joined(separator: "\n")
    }

    var json: JSONValue {
        .members([
            "server": .string(server),
            "offline": .bool(isOffline),
            "collections": .array(
                lines.map { line in
                    .members([
                        "collection": .string("\(line.state.id)"),
                        "verdict": .string(line.verdict.rawValue),
                        "timestamp": line.state.entry.map { .count($0.timestamp.milliseconds) },
                        "serverTimestamp": line.state.serverTimestamp.map { .count($0.milliseconds) },
                        "ageSeconds": line.age.map { .count($0.components.seconds) },
                        "action": line.state.action.map { .string($0.word) },
                        "reason": line.state.action?.reason.map(JSONValue.string),
                        "bundleBytes": line.state.entry.map { .count($0.bundle.size) },
                    ])
                }),
        ])
    }

    private static func time(_ timestamp: Timestamp) -> String { "\(timestamp) \(timestamp.rfc3339.prefix(10))" }

    private static func age(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        if seconds >= 2 * 86_400 { return "\(seconds / 86_400) d" }
        if seconds >= 2 * 3600 { return "\(seconds / 3600) h" }
        return seconds >= 120 ? "\(seconds / 60) min" : "\(seconds) s"
    }
}
