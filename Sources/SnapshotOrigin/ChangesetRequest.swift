import RemoteSettingsModel

/// The query of a request for a changeset, checked by the rules of the API's version.
struct ChangesetRequest {
    enum Refusal: Error {
        /// 204: the client has heard of no newer state, because `_expected` is before `_since`, the timestamp of its
        /// data.
        case nothingNewer
        case invalid(OriginProblem)
    }

    let version: APIVersion
    let expected: Timestamp
    let since: Timestamp?
    let bucket: String?
    let collection: String?
    /// The most changes to return, the newest ones; `nil` for all. Only v1 has this parameter.
    let limit: Int?

    /// Reads and checks the parameters. `_expected` is mandatory.
    ///
    /// v1 accepts `_since` bare or in quotation marks, v2 only bare. If `_expected` is before `_since`, v2 refuses the
    /// request. v1 answers 204 for the monitor, and sends the data of a collection.
    init(_ query: QueryParameters, _ version: APIVersion, isMonitor: Bool) throws(Refusal) {
        self.version = version
        func number(_ name: String) throws(Refusal) -> Timestamp? {
            guard var text = query[name] else { return nil }
            if version == .v1, text.count > 2, text.hasPrefix("\""), text.hasSuffix("\"") {
                text = String(text.dropFirst().dropLast())
            }
            guard let number = Timestamp(text) else {
                throw .invalid(.invalid(name, "expected a timestamp in milliseconds"))
            }
            return number
        }
        guard query["_expected"] != nil else { throw .invalid(.invalid("_expected", "Required")) }
        // Clients use it only to make a URL that no cache has, so the server accepts any text.
        let zero = Timestamp(milliseconds: 0)
        let expected = (try? number("_expected")) ?? zero
        self.expected = expected
        since = try number("_since")
        if let since, expected > zero, expected < since {
            if version == .v1, isMonitor { throw .nothingNewer }
            if version == .v2 {
                throw .invalid(.invalid("_expected", "must be superior to _since if both are provided"))
            }
        }
        bucket = query["bucket"]
        collection = query["collection"]
        for (name, value) in [("bucket", bucket), ("collection", collection)] {
            guard let value, !Identifier.isValid(value.utf8) else { continue }
            throw .invalid(.invalid(name, "expected an id of letters, digits, - and _"))
        }
        guard version == .v1 else {
            limit = nil
            return
        }
        do throws(OriginProblem) {
            let limit = try ListQuery.limit(query)
            // In Kinto 0 means no limit.
            self.limit = limit == 0 ? nil : limit
        } catch {
            throw .invalid(error)
        }
    }

    var queryWithoutSince: String {
        "_expected=\(expected)" + (bucket.map { "&bucket=\($0)" } ?? "")
            + (collection.map { "&collection=\($0)" } ?? "") + (limit.map { "&_limit=\($0)" } ?? "")
    }
}
