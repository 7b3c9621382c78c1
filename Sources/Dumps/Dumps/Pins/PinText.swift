import RemoteSettingsModel
import SnapshotBundle

/// Descriptions of pins for people.
package enum PinText {
    /// Returns a description of a pin, such as `pinned at 1760000000000 (2025-10-09), older than the server's state of
    /// 2025-10-21`.
    ///
    /// The time between the two states is not shown: the server may have published its state after years without any.
    package static func sentence(_ state: PinState) -> String {
        let at = state.pin.at
        func date(_ time: Timestamp) -> String { "\(time.rfc3339.prefix(10))" }
        // Show the same number as in `dumps.yaml`.
        var parts = ["pinned at \(at) (\(date(at)))"]
        if let server = state.serverTimestamp {
            parts.append(
                server == at
                    ? "which is the server's current state"
                    : "\(server < at ? "newer" : "older") than the server's state of \(date(server))")
        }
        return parts.joined(separator: ", ") + terms(state.pin)
    }

    private static func terms(_ pin: Pin) -> String {
        (pin.until.map { ", until \(Pin.dateText($0))" } ?? "") + (pin.reason.map { ", reason: \($0)" } ?? "")
    }

    package static func warning(_ state: PinState) -> String? {
        guard state.isOverdue, let until = state.pin.until else { return nil }
        return "its pin expired on \(Pin.dateText(until))"
    }

    /// Returns the warning that `pin` prints; `nil` if the bundle has all attachments.
    package static func warning(_ outcome: Pinning.Outcome) -> String? {
        outcome.entry.leftToServer.map { sentence in
            "\(outcome.id): \(sentence), which deletes attachments that no record uses; to keep them, set "
                + "attachments: all in dumps.yaml, and run rsdump refresh while the server still has this state"
        }
    }

    package static func outcome(_ outcome: Pinning.Outcome) -> String {
        let at = outcome.pin.at
        return "\(outcome.id): pinned at \(at) (\(at.rfc3339)), \(origin(outcome))\(terms(outcome.pin))"
    }

    private static func origin(_ outcome: Pinning.Outcome) -> String {
        guard let origin = outcome.restored else { return "its current state" }
        guard case .signed(let signature) = outcome.entry.trust else {
            return "from \(origin), "
                + (outcome.entry.trust == .unsigned ? "unsigned" : "imported without a signature")
                + (outcome.hasLostSignature ? ", replacing a signed state" : "")
        }
        return "from \(origin), verified at \(signature.verifiedAt.rfc3339), "
            + (outcome.isVerifiedAsLocked
                ? "the time in its lock file" : "the current time, because it has no lock file")
    }
}

extension LockFile.Collection {
    /// The number of attachments that are not in the bundle.
    package var omittedAttachments: Int { omitted.saturatingSum(\.count) }

    /// A description of the attachments that are only on the server; `nil` if the bundle has all of them.
    package var leftToServer: String? {
        let count = omittedAttachments
        guard count > 0 else { return nil }
        let size = ByteSize.text(omitted.saturatingSum { UInt64(clamping: $0.bytes) })
        return "\(Counted.text(count, "attachment")) (\(size)) only on the server"
    }
}
