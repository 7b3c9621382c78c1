import RemoteSettingsModel

/// The query of a request for a changeset, checked against the rules of the API's version.
struct ChangesetRequest {
    let version: APIVersion
    let since: Timestamp?
    let bucket: String?
    let collection: String?
    /// The largest number of changes to return, newest first; `nil` for all. Only v1 has this parameter (`_limit`).
    let limit: Int?
    private let expected: Timestamp

    /// Parses and checks the parameters. `_expected` is mandatory.
    ///
    /// On v1, an empty parameter is treated as missing, and no parameter may be repeated. On v2, the last value of a
    /// repeated parameter is used.
    ///
    /// - Throws: `OriginProblem` if a parameter is missing or wrong. On v2, also if ``isSatisfied``.
    init(_ query: QueryParameters, _ version: APIVersion) throws(OriginProblem) {
        self.version = version
        switch version {
        case .v1:
            func filled(_ name: String) throws(OriginProblem) -> String? {
                try query.only(name).flatMap { $0.isEmpty ? nil : $0 }
            }
            guard let text = try filled("_expected") else { throw .invalid("_expected", "Required") }
            // Clients use `_expected` only to create a URL that bypasses caches, so any value is accepted.
            expected = Timestamp.unquoting(text) ?? Timestamp(milliseconds: 0)
            since = try filled("_since").map { text throws(OriginProblem) in
                guard let since = Timestamp.unquoting(text), since <= .latestSince else {
                    throw .invalid("_since", "must be a timestamp in milliseconds, at most \(Timestamp.latestSince)")
                }
                return since
            }
            bucket = try filled("bucket")
            collection = try filled("collection")
            limit = try query.limit()
        case .v2:
            guard let text = query["_expected"] else { throw .unprocessable("_expected", nil) }
            guard let number = Timestamp(text) else { throw .unprocessable("_expected", text) }
            expected = number
            since = try query["_since"].map { text throws(OriginProblem) in
                guard let since = Timestamp(text), since <= .latestSince else { throw .unprocessable("_since", text) }
                return since
            }
            bucket = query["bucket"]
            collection = query["collection"]
            limit = nil
            if isSatisfied {
                throw OriginProblem(
                    400, errno: 107, "Invalid parameters", "_expected must be superior to _since if both are provided")
            }
        }
    }

    /// Whether there is nothing to send, because `_expected` (the newest state that the client has heard of) is earlier
    /// than `_since` (the state that it already has).
    var isSatisfied: Bool { since.map { expected.milliseconds > 0 && expected < $0 } ?? false }
}

extension Timestamp {
    /// The largest value of `_since` that Mozilla's servers accept: the beginning of the year 2100.
    fileprivate static let latestSince = Timestamp(milliseconds: 4_102_444_800_000)

    /// Parses a timestamp with or without quotation marks.
    static func unquoting(_ text: String) -> Timestamp? {
        let isQuoted = text.utf8.count > 2 && text.utf8.first == 0x22 && text.utf8.last == 0x22
        return Timestamp(isQuoted ? String(text.dropFirst().dropLast()) : text)
    }
}

extension QueryParameters {
    /// Returns the number in `_limit`; `nil` if it is missing, empty or 0, which means "no limit" in Kinto.
    fileprivate func limit() throws(OriginProblem) -> Int? {
        guard let text = try only("_limit"), !text.isEmpty else { return nil }
        guard let number = Int64(text), number >= 0 else {
            throw .invalid("_limit", "must be an integer from 0 to \(Int64.max)")
        }
        return number == 0 ? nil : Int(clamping: number)
    }
}
