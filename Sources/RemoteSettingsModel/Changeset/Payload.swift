/// The signed payload of a collection, read in place.
///
/// It is canonical JSON of `{"data": [record…], "last_modified": "<timestamp>"}`, with the records sorted by id and the
/// timestamp as a string (the server's signing code; there is no RFC).
public enum Payload {
    static let head = "{\"data\":["

    /// The records and the timestamp of a payload, in one pass that copies nothing.
    ///
    /// - Throws: ``ChangesetError/notCanonical(problem:)`` where the text is not what this package writes; the pass looks
    ///   at the structure and the ids, not at whether every value is in canonical form.
    public static func read(_ payload: Bytes, limits: Limits) throws(ChangesetError) -> (RecordTable, Timestamp) {
        var scanner = PayloadScanner(limits: limits)
        let (entries, timestamp) = try payload.withSpan {
            (span) throws(ChangesetError) -> ([RecordTable.Entry], Timestamp) in
            try scanner.scan(span)
        }
        return (RecordTable(payload, sorted: entries, mentionsFilters: scanner.mentionsFilters), timestamp)
    }
}
