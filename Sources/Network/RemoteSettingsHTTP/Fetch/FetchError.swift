import RemoteSettingsModel
import SnapshotBundle

/// Why a collection's state could not be fetched. The local state stays as it was.
package enum FetchError: Error, Sendable {
    case http(HTTPError)
    case changeset(ChangesetError, url: String)
    case signature(ContentSignatureError)
    /// No signature matches a full list, and the list is probably incomplete.
    ///
    /// The server states that there are `total` records. If it states no total (`nil`), the number received looks like
    /// a page limit.
    case cutShort(url: String, received: Int, total: Int?)
    /// The server's state is older than the newest state that was accepted before.
    case rollback(held: Timestamp, answered: Timestamp)
    /// The server's state is further ahead of the clock than ``Limits/clockToleranceSeconds``.
    case future(answered: Timestamp, now: Timestamp)
    /// With the same timestamp, the server has other records than the local ones.
    case equivocation(Timestamp)
    /// The collection is known to be signed, but the server's state has no signature.
    case signatureLost
    /// The server's answer to a request for all records is empty.
    case noAnswer(url: String)
    /// The server does not have the collection.
    case unknownCollection(HTTPError)

    /// Whether a full answer may be correct although a delta was wrong.
    var isWorthRetryingInFull: Bool {
        switch self {
        case .signature, .changeset: true
        case .http(let error):
            // The server refuses `_since`, or answers it with a redirect that cannot be followed.
            error.code == .redirect || error.status == 400
        default: false
        }
    }
}

extension FetchError {
    /// The more probable cause of an invalid signature, inferred from the number of records in a full answer.
    func asCutShort(_ received: Int, _ document: ServerDocument) -> FetchError? {
        guard case .signature(.noValidSignature(_, let failures)) = self,
            failures.contains(where: { if case .signatureMismatch = $0.reason { true } else { false } })
        else { return nil }
        let totals = ["Total-Records", "Total-Objects"].compactMap { document.headers[$0].flatMap { Int($0) } }
        if let total = totals.max() {
            return total > received ? .cutShort(url: "\(document.url)", received: received, total: total) : nil
        }
        let isRound = received >= 100 && received.isMultiple(of: 100)
        guard isRound || document.headers["Next-Page"] != nil else { return nil }
        return .cutShort(url: "\(document.url)", received: received, total: nil)
    }
}

extension FetchError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .changeset: "\(problem); the local state is unchanged; try again later"
        case .future:
            "\(problem); the local state is unchanged; check this machine's clock, and tell the server's operator"
        case .rollback: "\(problem); the local state is unchanged"
        case .signatureLost:
            "\(problem); the local state is unchanged; remove the local state first if you accept it unsigned"
        case .equivocation: "\(problem); the local state is unchanged; ask the server's operator"
        case .noAnswer: "\(problem); try again later"
        case .cutShort: "\(problem); the local state is unchanged; ask the server's operator to raise the limit"
        case .http, .unknownCollection, .signature: problem
        }
    }

    /// What went wrong, without advice.
    package var problem: String {
        switch self {
        case .http(let error) where [401, 403].contains(error.status):
            "\(error); the server refuses access to this collection; ask its operator, or check a proxy on the way"
        case .http(let error), .unknownCollection(let error): "\(error)"
        case .changeset(let error, let url): "\(url): \(error)"
        case .signature(let error): "\(error)"
        case .cutShort(let url, let received, let total?):
            "\(url): the list of records is incomplete: expected \(Counted.text(total, "record")), as the server "
                + "states, found \(received), which its signature does not match"
        case .cutShort(let url, let received, nil):
            "\(url): no signature matches the \(received) records received; such a round number suggests that the "
                + "server's page limit (paginate_by) cut the list"
        case .rollback(let held, let answered):
            "the server sent an older state than it did before: expected at least \(held) "
                + "(\(held.rfc3339)), found \(answered) (\(answered.rfc3339))"
        case .future(let answered, let now):
            "the server sent a state from the future: expected at most a day after the current time, "
                + "\(now.rfc3339), found \(answered) (\(answered.rfc3339))"
        case .equivocation(let timestamp):
            "the server sent other records for the timestamp of the local state, \(timestamp)"
        case .signatureLost: "the collection is known to be signed, but the server's answer has no signature"
        case .noAnswer(let url): "\(url): expected a changeset, found an empty answer (204)"
        }
    }
}
