import RemoteSettingsModel

/// A document as the server sent it. It is neither parsed nor verified.
package struct ServerDocument: Sendable, Hashable {
    package let body: Bytes
    /// The document's URL, after redirects.
    package let url: HTTPURL
    let headers: HTTPHeaders

    /// Returns the server's time when the response arrived: its `Date`, plus the `Age` that a cache adds; `nil` if
    /// there is no valid date.
    ///
    /// The time is not verified.
    ///
    /// - Parameter now: the current time, which decides the century of a date in the obsolete format.
    package func serverTime(now: Timestamp) -> Timestamp? {
        guard let date = headers["Date"].flatMap({ HTTPDate.parse($0, now: now) }) else { return nil }
        let age = headers["Age"].flatMap { UInt32($0) } ?? 0
        return date.advanced(by: .seconds(Int64(age)))
    }
}

/// The response to a request for a changeset.
package enum ChangesetAnswer: Sendable, Hashable {
    /// A changeset.
    ///
    /// `answersSince` is true for a delta. If it is false, the response came from a URL without `_since`: the request
    /// had none, or the server no longer has that old state and redirected (307). Such a response has every record and
    /// no tombstones. It **replaces** the local state and must never be merged into it.
    case changes(ServerDocument, answersSince: Bool)
    /// 204: there is nothing newer than `_since`, or `_expected` is earlier than `_since`.
    case nothing
}
