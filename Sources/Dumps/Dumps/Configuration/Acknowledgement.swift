import RemoteSettingsModel
import SnapshotBundle

/// The class of a failed refresh of a collection. It is the `code` of an error in reports, and the `error` in
/// `acknowledged:`.
package enum FailureClass: String, CaseIterable, Hashable, Sendable {
    case attachment, backoff, budget, bundle, cancelled, changeset, configuration, equivocation, file, future
    case gone
    case guarded = "guard"
    case http, pin, rollback, signature
    case signatureLost = "signature-lost"
    case stale, undelivered, unknown, unreachable

    /// Creates the class of a failure.
    package init(_ failure: Failure) {
        self =
            switch failure.cause {
            case .changeset, .noAnswer: .changeset
            case .cutShort: .signature
            case .rollback: .rollback
            case .future: .future
            case .equivocation: .equivocation
            case .signatureLost: .signatureLost
            case .unknownCollection: .unknown
            case .gone: .gone
            case .stale: .stale
            case .undelivered: .undelivered
            case .attachment: .attachment
            case .pin: .pin
            case .historicBundle: .bundle
            case .timeout(.connect), .timeout(.head): .unreachable
            case .facts(let facts) where facts.value is BudgetExcess: .budget
            default: Self(failure.code)
            }
    }

    private init(_ code: Failure.Code) {
        self =
            switch code {
            case .usage, .invalidName, .busy, .program, .closed: .configuration
            case .missing: .unknown
            case .storage: .file
            case .malformed, .unknownVersion, .damaged, .overLimit: .bundle
            case .untrusted, .certificate: .signature
            case .rollback: .rollback
            case .refused: .guarded
            case .unreachable: .unreachable
            case .tls, .broken, .timeout, .redirect, .status, .content: .http
            case .backoff: .backoff
            case .cancelled: .cancelled
            }
    }

    /// The largest number of days for which the failure can be acknowledged in advance; `nil` if there is no limit.
    ///
    /// These failures may be an attack, and withhold all updates of the collection as long as they last. A person must
    /// look at them again.
    var mostAcknowledgedDays: Int? {
        switch self {
        case .equivocation, .future, .rollback, .signature, .signatureLost: 30
        case .attachment, .backoff, .budget, .bundle, .cancelled, .changeset, .configuration, .file, .gone,
            .guarded, .http, .pin, .stale, .undelivered, .unknown, .unreachable:
            nil
        }
    }
}

/// The setting in `dumps.yaml` that marks a collection's failure as known, so that it does not fail the whole refresh.
package struct Acknowledgement: Hashable, Sendable {
    package var kind: FailureClass
    /// The last day of the acknowledgement, as its first instant (midnight UTC).
    package var until: Timestamp
    package var reason: String?

    /// Returns whether the last day has passed in UTC.
    package func isOver(at now: Timestamp) -> Bool { Pin.isOver(until, at: now) }

    /// Returns the limit in days that the last day exceeds; `nil` if it does not exceed one.
    func exceededDays(at now: Timestamp) -> Int? {
        guard let days = kind.mostAcknowledgedDays, until > now.advanced(by: .seconds(days * 86_400)) else {
            return nil
        }
        return days
    }
}

extension Acknowledgement: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: ["error": kind.rawValue, "until": Pin.dateText(until), "reason": reason])
    }
}
