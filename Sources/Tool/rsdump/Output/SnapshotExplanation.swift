import RemoteSettings
import RemoteSettingsModel

/// A description of where a collection's records come from, for people.
struct SnapshotExplanation {
    let status: CollectionStatus

    var text: String {
        var lines = ["collection  \(status.collection)"]
        switch status.source {
        case .cached: lines.append("source      stored by a sync")
        case .packaged(let name): lines.append("source      packaged in \(name)")
        case .override(let path): lines.append("source      \(path), for development")
        case .noSnapshot: lines.append("source      none")
        case .unknown(let name): lines.append("source      \(name)")
        }
        if let timestamp = status.timestamp { lines.append("timestamp   \(timestamp) (\(timestamp.rfc3339))") }
        if let age = status.age {
            let days = age.components.seconds / 86_400
            let text = days < 1 ? "less than a day" : Counted.text(days, "day")
            lines.append("age         \(text) since the last change")
        }
        if let records = status.recordCount { lines.append("records     \(records) before filters") }
        switch status.provenance {
        case .signed(let verdict):
            lines.append(
                "signature   \(verdict.signer), root \(verdict.root.hex.prefix(16))…, verified "
                    + "\(status.isVerifiedOnDevice ? "now" : "when packaged"), at \(verdict.verifiedAt.rfc3339)")
        case .unsigned: lines.append("signature   none")
        case .imported: lines.append("signature   none, imported")
        case nil: break
        }
        lines += status.unused.map { "not used    \($0)" }
        return lines.map(Console.visible).joined(separator: "\n")
    }

    /// The reason why there are no records.
    var absence: String {
        let reasons = status.unused.filter { $0.reason != .notFound }.map { "\($0)" }
        return reasons.isEmpty
            ? "\(status.collection): no records: nothing is stored or packaged; check the name, and give --packaged DIR or --sync"
            : "\(status.collection): no records: \(reasons.joined(separator: "; "))"
    }
}

extension AttachmentSource {
    var words: String {
        switch self {
        case .cached: "stored"
        case .packaged(let name): "packaged in \(name)"
        case .network: "downloaded now"
        case .staleCached: "stored, for an earlier version of the record"
        case .stalePackaged(let name): "packaged in \(name), for an earlier version of the record"
        }
    }
}
