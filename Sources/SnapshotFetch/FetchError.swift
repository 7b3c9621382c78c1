import ContentSignature
import RemoteSettingsHTTP
import RemoteSettingsModel

/// Why a collection's state could not be had from the server. What was held stays.
public enum FetchError: Error, Sendable {
    case http(HTTPError)
    case changeset(ChangesetError, url: String)
    case signature(ContentSignatureError)
    /// The server gives an older state than what is held, or was held.
    case rollback(held: Timestamp, answered: Timestamp)
    /// The server gives a state that is further ahead of the clock than ``Limits/clockToleranceSeconds``.
    case future(answered: Timestamp, now: Timestamp)
    /// The server gives other records under the timestamp of what is held.
    case equivocation(Timestamp)
    /// What is held, packaged or was held is signed, and the server now gives no signature.
    case signatureLost
    /// The server answers nothing where a full list was asked for.
    case noAnswer(url: String)
    /// The server does not have the collection.
    case unknownCollection(HTTPError)

    /// Whether a full answer may be right where a delta was wrong.
    var isWorthRetryingInFull: Bool {
        switch self {
        case .signature, .changeset: true
        case .http(let error):
            // A server that refuses `_since` altogether, or answers it with a redirect that fits nothing.
            if case .badRedirect = error.reason { true } else { error.status == 400 }
        default: false
        }
    }
}

extension FetchError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .changeset: "\(problem); what is held stays, try again later"
        case .future: "\(problem); what is held stays; check this machine's clock, and tell the server's owner"
        case .rollback: "\(problem); what is held stays"
        case .signatureLost: "\(problem); what is held stays; to take it without one, remove what is held first"
        case .equivocation: "\(problem); what is held stays, ask the server's owner"
        case .noAnswer: "\(problem); try again later"
        case .http, .unknownCollection, .signature: problem
        }
    }

    /// What went wrong, without what to do about it.
    package var problem: String {
        switch self {
        case .http(let error), .unknownCollection(let error): "\(error)"
        case .changeset(let error, let url): "\(url): \(error)"
        case .signature(let error): "\(error)"
        case .rollback(let held, let answered):
            "the server answers an older state than what is or was held: expected at least \(held) (\(held.rfc3339)), "
                + "found \(answered) (\(answered.rfc3339))"
        case .future(let answered, let now):
            "the server answers a state from the future: expected at most a day after \(now.rfc3339), the present time, "
                + "found \(answered) (\(answered.rfc3339))"
        case .equivocation(let timestamp):
            "the server answers other records under the timestamp that is held, \(timestamp)"
        case .signatureLost: "the collection is known to be signed, and the server now gives no signature"
        case .noAnswer(let url): "\(url): expected a changeset, found an empty answer (204)"
        }
    }
}
