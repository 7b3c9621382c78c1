import RemoteSettingsModel

/// The query of a request for a changeset, checked against the rules of the API's version.
struct ChangesetRequest {
    let version: APIVersion
    let expected: Timestamp
    let since: Timestamp?
    let bucket: String?
    let collection: String?
    /// The largest number of changes to return, newest first; `nil` for all. Only v1 has this parameter.
    let limit: Int?

    /// Reads and checks the parameters. `_expected` is mandatory.
    ///
    /// - Throws: `OriginProblem` (400) if a parameter is missing or wrong. On v2, also if ``isSatisfied``.
    init(_ query: QueryParameters, _ version: APIVersion) throws(OriginProblem) {
        self.version = version
        guard query["_expected"] != nil else { throw .invalid("_expected", "Required") }
        // Clients use it only to make a URL that no cache has, so any text is accepted.
        expected = (try? query.timestamp("_expected", version)) ?? Timestamp(milliseconds: 0)
        since = try query.timestamp("_since", version)
        bucket = try query.identifier("bucket")
        collection = try query.identifier("collection")
        limit = version == .v1 ? try query.limit() : nil
        if version == .v2, isSatisfied {
            throw .invalid("_expected", "must be superior to _since if both are provided")
        }
    }

    /// Whether the client has not heard of a newer state, because `_expected` is earlier than `_since`, the timestamp
    /// of its data.
    var isSatisfied: Bool { since.map { expected.milliseconds > 0 && expected < $0 } ?? false }

    var queryWithoutSince: String {
        "_expected=\(expected)" + (bucket.map { "&bucket=\($0)" } ?? "")
            + (collection.map { "&collection=\($0)" } ?? "") + (limit.map { "&_limit=\($0)" } ?? "")
    }
}

extension QueryParameters {
    /// Reads a timestamp. v1 accepts it with or without quotation marks, v2 only without them.
    func timestamp(_ name: String, _ version: APIVersion) throws(OriginProblem) -> Timestamp? {
        guard var text = self[name] else { return nil }
        if version == .v1, text.count > 2, text.hasPrefix("\""), text.hasSuffix("\"") {
            text = String(text.dropFirst().dropLast())
        }
        guard let number = Timestamp(text) else { throw .invalid(name, "expected a timestamp in milliseconds") }
        return number
    }

    func identifier(_ name: String) throws(OriginProblem) -> String? {
        guard let value = self[name] else { return nil }
        guard Identifier.isValid(value.utf8) else {
            throw .invalid(name, "expected an id of letters, digits, - and _")
        }
        return value
    }

    /// The number in `_limit`; `nil` if it is missing, empty or 0, which means no limit in Kinto.
    fileprivate func limit() throws(OriginProblem) -> Int? {
        guard let text = self["_limit"], !text.isEmpty else { return nil }
        guard let number = Int64(text), number >= 0 else {
            throw .invalid("_limit", "expected a whole number from 0 to \(Int64.max)")
        }
        return number == 0 ? nil : Int(clamping: number)
    }
}
