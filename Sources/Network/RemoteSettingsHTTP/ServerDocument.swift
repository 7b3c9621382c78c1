import RemoteSettingsModel

/// A document as the server sent it. It is neither parsed nor verified.
package struct ServerDocument: Sendable, Hashable {
    package let body: Bytes
    /// The URL that it came from, after redirects.
    package let url: HTTPURL
    let headers: HTTPHeaders

    /// The server's time of the request: its `Date`, plus the `Age` that a cache adds; `nil` if it sends no valid date.
    ///
    /// The time is not verified.
    ///
    /// - Parameter now: decides the century of an obsolete form of date.
    package func serverTime(now: Timestamp) -> Timestamp? {
        guard let date = headers["Date"].flatMap({ HTTPDate.parse($0, now: now) }) else { return nil }
        let age = headers["Age"].flatMap { UInt32($0) } ?? 0
        return date.advanced(by: .seconds(Int64(age)))
    }
}

/// The answer to a request for a changeset.
package enum ChangesetAnswer: Sendable, Hashable {
    /// A changeset.
    ///
    /// `answersSince` is true for a delta. If it is false, the answer came from a URL without `_since`: the request had
    /// none, or the server no longer knows that timestamp and redirected (307). Such an answer has every record and no
    /// tombstones. It **replaces** the local state and must never be merged into it.
    case changes(ServerDocument, answersSince: Bool)
    /// 204: there is nothing newer than `_since`, or `_expected` is earlier than `_since`.
    case nothing
}
