/// The signed payload of a collection: its exact bytes, and the records and the timestamp in them.
///
/// It is canonical JSON of `{"data": [record…], "last_modified": "<timestamp>"}`. The records are sorted by id, and the
/// timestamp is a string. There is no specification, so this follows the server's signing code. The records are slices
/// of ``bytes``.
package struct Payload: Sendable {
    /// The bytes that a content signature covers, without its prefix.
    package let bytes: Bytes
    package let records: RecordTable
    package let timestamp: Timestamp

    /// Parses a payload in one pass without copying.
    ///
    /// - Parameter records: the expected number of records; 0 if unknown.
    /// - Throws: ``Failure``. The pass checks the structure, the limits, and the ids with their order, but not
    ///   whether every value is canonical.
    package init(parsing bytes: Bytes, expecting records: Int = 0) throws(Failure) {
        var scanner = PayloadScanner(records: records)
        let (entries, timestamp) = try bytes.withSpan {
            (span) throws(Failure) -> ([RecordTable.Entry], Timestamp) in
            try scanner.scan(span)
        }
        self.bytes = bytes
        self.timestamp = timestamp
        self.records = RecordTable(bytes, sorted: entries, mentionsFilters: scanner.mentionsFilters)
    }

    /// Creates the payload of canonical records. Their positions are known, so the bytes are not scanned again.
    package init(_ table: RecordTable, timestamp: Timestamp) {
        let head = "{\"data\":[".utf8
        let tail = "],\"last_modified\":\"\(timestamp)\"}".utf8
        var output: [UInt8] = []
        output.reserveCapacity(head.count + tail.count + table.byteCount + table.count)
        output.append(contentsOf: head)
        let entries = table.write(to: &output)
        output.append(contentsOf: tail)
        bytes = Bytes(output)
        self.timestamp = timestamp
        records = RecordTable(bytes, sorted: entries, mentionsFilters: table.mayMentionFilters)
    }
}

extension Payload {
    /// Calls `body` for every record, in the order of ids, with its position in ``bytes`` and with its id.
    package func forEachPlace(_ body: (_ place: Range<Int>, _ id: Span<UInt8>) -> Void) {
        records.forEachPlace(in: bytes, body)
    }
}

/// Payloads are equal if their bytes are equal, because the bytes determine everything else.
extension Payload: Equatable {
    package static func == (left: Payload, right: Payload) -> Bool { left.bytes == right.bytes }
}
