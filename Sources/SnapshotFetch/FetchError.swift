import ContentSignature
import RemoteSettingsHTTP
import RemoteSettingsModel

/// Why a collection's state could not be had from the server. What was held stays.
public enum FetchError: Error, Sendable {
    case http(HTTPError)
    case changeset(ChangesetError, url: String)
    case signature(ContentSignatureError)
    /// No signature holds over a full list, and the list is probably cut: the server says that there are `total` records, or,
    /// where it does not (`nil`), the count of what came looks like a page limit.
    case cutShort(url: String, received: Int, total: Int?)
    /// The server gives a verified state that is older than what is held, or was held.
    case rollback(held: Timestamp, answered: Timestamp)
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

extension FetchError {
    /// What a signature that does not hold is more probably, told from the number of records that a full answer has.
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
    public var description: String {
        switch self {
        case .changeset: "\(problem); what is held stays, try again later"
        case .rollback: "\(problem); what is held stays"
        case .signatureLost: "\(problem); what is held stays; to take it without one, remove what is held first"
        case .equivocation: "\(problem); what is held stays, ask the server's owner"
        case .noAnswer: "\(problem); try again later"
        case .cutShort: "\(problem); what is held stays, ask the server's owner to raise the limit"
        case .http, .unknownCollection, .signature: problem
        }
    }

    /// What went wrong, without what to do about it.
    package var problem: String {
        switch self {
        case .http(let error), .unknownCollection(let error): "\(error)"
        case .changeset(let error, let url): "\(url): \(error)"
        case .signature(let error): "\(error)"
        case .cutShort(let url, let received, let total?):
            "\(url): the list of records is cut: expected \(Counted.text(total, "record")) as the server counts them, found "
                + "\(received), over which its signature does not hold"
        case .cutShort(let url, let received, nil):
            "\(url): no signature holds over the \(received) records that came; a count this round suggests that the server's "
                + "page limit (paginate_by) cut the list"
        case .rollback(let held, let answered):
            "the server answers an older state than what is or was held: expected at least \(held) (\(held.rfc3339)), "
                + "found \(answered) (\(answered.rfc3339))"
        case .equivocation(let timestamp):
            "the server answers other records under the timestamp that is held, \(timestamp)"
        case .signatureLost: "the collection is known to be signed, and the server now gives no signature"
        case .noAnswer(let url): "\(url): expected a changeset, found an empty answer (204)"
        }
    }
}
