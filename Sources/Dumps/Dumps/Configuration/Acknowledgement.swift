import RemoteSettingsModel

/// Why a refresh of one collection failed: the `code` of an error in reports, and what `acknowledged:` names.
package enum FailureKind: String, CaseIterable, Hashable, Sendable {
    case attachment, backoff, budget, bundle, cancelled, catalogue, changeset, configuration, equivocation, file, future
    case gone
    case guarded = "guard"
    case http, pin, rollback, signature
    case signatureLost = "signature-lost"
    case stale, undelivered, unknown, unreachable
}

/// The setting in `dumps.yaml` that says that a collection's failure is known, so that it does not fail the refresh.
package struct Acknowledgement: Hashable, Sendable {
    package var kind: FailureKind
    /// The last day, as the midnight UTC at which that day begins.
    package var until: Timestamp
    package var reason: String?

    package init(kind: FailureKind, until: Timestamp, reason: String? = nil) {
        self.kind = kind
        self.until = until
        self.reason = reason
    }

    /// Whether the last day is over, in UTC.
    package func isOver(at now: Timestamp) -> Bool { Pin.isOver(until, at: now) }
}

extension Acknowledgement: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "error": kind.rawValue, "until": Pin.dateText(until), "reason": reason,
        ])
    }
}
