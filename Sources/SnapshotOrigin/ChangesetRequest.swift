import RemoteSettingsModel

/// What the query of a changeset asks for, checked by the rules of its version of the API.
struct ChangesetRequest {
    enum Refusal: Error {
        /// 204: the monitor's time, which the client gives in `_expected`, is before what it has.
        case nothingNewer
        case invalid(OriginProblem)
    }

    let version: APIVersion
    let expected: Timestamp
    let since: Timestamp?
    let bucket: String?
    let collection: String?

    /// `_expected` is mandatory. v1 takes a `_since` bare or in quotation marks, v2 bare.
    init(_ query: QueryParameters, _ version: APIVersion) throws(Refusal) {
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
        // Its first use is to be another URL for caches, so that the server takes any text for it.
        let zero = Timestamp(milliseconds: 0)
        let expected = (try? number("_expected")) ?? zero
        self.expected = expected
        since = try number("_since")
        if let since, expected > zero, expected < since {
            if version == .v1 { throw .nothingNewer }
            throw .invalid(.invalid("_expected", "must be superior to _since if both are provided"))
        }
        bucket = query["bucket"]
        collection = query["collection"]
        for (name, value) in [("bucket", bucket), ("collection", collection)] {
            guard let value, !Identifier.isValid(value.utf8) else { continue }
            throw .invalid(.invalid(name, "expected an id of letters, digits, - and _"))
        }
    }

    var queryWithoutSince: String {
        "_expected=\(expected)" + (bucket.map { "&bucket=\($0)" } ?? "")
            + (collection.map { "&collection=\($0)" } ?? "")
    }
}
