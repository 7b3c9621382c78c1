import Dumps
import DumpsRefresh
import RemoteSettingsModel

/// Pins, as text and as JSON.
enum PinText {
    /// An example is `pinned at 1760000000000 (2025-10-09T08:53:20.000Z), 12.0 days (1036800000 ms) behind the server's
    /// …`.
    static func sentence(_ state: PinState) -> String {
        let at = state.pin.at
        var parts = ["pinned at \(at) (\(at.rfc3339))"]
        if let server = state.serverTimestamp {
            if server == at {
                parts.append("which the server has too")
            } else if server < at {
                parts.append("ahead of the server's \(server) (\(server.rfc3339))")
            } else {
                let gap = server.milliseconds &- at.milliseconds
                parts.append("\(days(gap)) (\(gap) ms) behind the server's \(server) (\(server.rfc3339))")
            }
        }
        if let until = state.pin.until { parts.append("until \(Pin.dateText(until))") }
        if let reason = state.pin.reason { parts.append("reason: \(reason)") }
        return parts.joined(separator: ", ")
    }

    static func warning(_ state: PinState) -> String? {
        guard state.isOverdue, let until = state.pin.until else { return nil }
        return "its pin ended on \(Pin.dateText(until))"
    }

    static func json(_ state: PinState) -> JSONValue {
        let behind = state.serverTimestamp.map {
            Int64(clamping: $0.milliseconds) - Int64(clamping: state.pin.at.milliseconds)
        }
        return .members([
            "at": .count(state.pin.at.milliseconds),
            "reason": state.pin.reason.map(JSONValue.string),
            "until": state.pin.until.map { .string(Pin.dateText($0)) },
            "overdue": .bool(state.isOverdue),
            "serverTimestamp": state.serverTimestamp.map { .count($0.milliseconds) },
            "behindMilliseconds": behind.map { .count($0) },
            "behindDays": behind.map { .count($0 / 86_400_000) },
        ])
    }

    static func outcome(_ id: CollectionID, _ outcome: Pinning.Outcome) -> String {
        let at = outcome.pin.at
        var text = "\(id): pinned at \(at) (\(at.rfc3339)), "
        guard let origin = outcome.restored else { return text + "which is the present bundle" }
        text += "from \(origin), "
        guard case .signed(let signature) = outcome.entry.trust else {
            return text + (outcome.entry.trust == .unsigned ? "unsigned" : "imported without a signature")
        }
        return text + "verified at \(signature.verifiedAt.rfc3339), "
            + (outcome.isVerifiedAsLocked ? "the time in its own lock" : "the present time: it has no lock of its own")
    }

    static func json(_ id: CollectionID, _ outcome: Pinning.Outcome) -> JSONValue {
        .members([
            "collection": .string("\(id)"),
            "at": .count(outcome.pin.at.milliseconds),
            "reason": outcome.pin.reason.map(JSONValue.string),
            "until": outcome.pin.until.map { .string(Pin.dateText($0)) },
            "restoredFrom": outcome.restored.map { .string("\($0)") },
            "verifiedAsLocked": .bool(outcome.isVerifiedAsLocked),
            "entry": LockJSON.entry(outcome.entry),
        ])
    }

    private static func days(_ milliseconds: UInt64) -> String {
        let tenths = milliseconds / 8_640_000
        return "\(tenths / 10).\(tenths % 10) days"
    }
}
