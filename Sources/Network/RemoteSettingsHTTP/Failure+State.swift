import RemoteSettingsModel
import SnapshotBundle

// The reasons why a collection's state could not be fetched. The local state is unchanged.
extension Failure {
    private static let unchanged = "the local state is unchanged"

    private init(_ cause: Cause, _ code: Code, url: String = "", _ problem: String, remedy: String? = nil) {
        self.init(url, Failure(code, problem, remedy: remedy, cause: cause))
    }

    package static func changeset(_ error: Failure, url: String) -> Self {
        Self(.changeset, error.code, url: url, "\(error)", remedy: "\(unchanged); try again later")
    }

    /// No signature matches a full list, and the list is probably incomplete.
    ///
    /// `total` is the number of records that the server states. If it states none (`nil`), the number of records
    /// received or a `Next-Page` header suggests a page limit.
    static func cutShort(url: String, received: Int, total: Int?) -> Self {
        let sentence =
            total.map {
                "the list of records is incomplete: the server announced \(Counted.text($0, "record")) but sent "
                    + "\(received), which do not match the signature"
            }
            ?? "the \(received) records received do not match any signature; probably the server's page limit "
            + "(paginate_by) has truncated the list"
        return Self(
            .cutShort, .untrusted, url: url, sentence,
            remedy: "\(unchanged); ask the server's operator to raise the limit")
    }

    package static func rollback(held: Timestamp, answered: Timestamp) -> Self {
        Self(
            .rollback(held: held, answered: answered), .rollback,
            "the server sent an older state than before: expected at least \(held) (\(held.rfc3339)), found "
                + "\(answered) (\(answered.rfc3339))",
            remedy: unchanged)
    }

    static func future(answered: Timestamp, now: Timestamp) -> Self {
        Self(
            .future, .rollback,
            "the server sent a state from the future: its timestamp is \(answered) (\(answered.rfc3339)), and the "
                + "current time is \(now.rfc3339)",
            remedy: "\(unchanged); check this machine's clock; if it is right, tell the server's operator")
    }

    package static func equivocation(_ timestamp: Timestamp) -> Self {
        Self(
            .equivocation, .rollback,
            "the server sent different records with the same timestamp as the local state, \(timestamp)",
            remedy: "\(unchanged); report this to the server's operator")
    }

    /// The server's response has no signature, but the collection is known to be signed.
    package static let signatureWithheld = Self(
        .signatureLost, .untrusted, "the collection was signed before, but the server's response has no signature",
        remedy: "\(unchanged); to accept the unsigned collection, remove the local state first")

    package static func noAnswer(url: String) -> Self {
        Self(
            .noAnswer, .content, url: url, "the server sent an empty response (204) instead of a changeset",
            remedy: "try again later")
    }

    /// Returns this error as "the server does not have the collection".
    func asUnknownCollection() -> Self {
        Self(
            .missing, problem: "the server has no such collection (\(status.map { "\($0) for " } ?? "")\(place))",
            cause: .unknownCollection(status: status))
    }

    /// Returns this error as "the server has the collection, but refuses access to it" if its status is 401 or 403.
    func asRefusedAccess() -> Self {
        guard status == 401 || status == 403 else { return self }
        var copy = self
        copy.remedy = "the server denies access to this collection; ask its operator, or check your proxy"
        return copy
    }

    /// Whether the full list of records may be correct although a delta was wrong.
    var isWorthRetryingInFull: Bool {
        switch cause {
        case .changeset: true
        case .cutShort, .signatureLost, .unknownCollection: false
        // The server may also refuse `_since`, or respond to it with a redirect that cannot be followed.
        default: isOfTrust || code == .redirect || status == 400
        }
    }

    /// Returns an error that blames an incomplete list of records for an invalid signature, if the number of records in
    /// a full response suggests it; `nil` otherwise.
    func asCutShort(_ received: Int, _ document: ServerDocument) -> Failure? {
        guard code == .untrusted, cause != .signatureLost else { return nil }
        let totals = ["Total-Records", "Total-Objects"].compactMap { document.headers[$0].flatMap { Int($0) } }
        if let total = totals.max() {
            return total > received ? .cutShort(url: "\(document.url)", received: received, total: total) : nil
        }
        let isRound = received >= 100 && received.isMultiple(of: 100)
        guard isRound || document.headers["Next-Page"] != nil else { return nil }
        return .cutShort(url: "\(document.url)", received: received, total: nil)
    }
}
