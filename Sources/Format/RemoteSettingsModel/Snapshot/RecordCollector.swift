/// Parses the array of records in a changeset into a single buffer of canonical JSON.
struct RecordCollector {
    private var canonical: [UInt8] = []
    private var entries: [RecordTable.Entry] = []
    private(set) var tombstones: [Tombstone] = []
    private var mentionsFilters = false
    private let mostRecords: Int

    init(records: Int = Limits.records) {
        mostRecords = records
    }

    /// Parses the array at the reader's position.
    mutating func collect(_ reader: inout JSONReader) throws(Failure) {
        canonical.reserveCapacity(reader.document.count - reader.offset)
        try reader.beginArray()
        while try reader.nextElement() {
            guard entries.count + tombstones.count < mostRecords else { throw .tooManyRecords(limit: mostRecords) }
            try collectRecord(&reader)
        }
    }

    /// Parses a text that contains exactly one record.
    mutating func collect(record text: Bytes) throws(Failure) {
        guard entries.count < mostRecords else { throw .tooManyRecords(limit: mostRecords) }
        var reader = JSONReader(text)
        try collectRecord(&reader)
        try reader.finish()
    }

    /// Returns the collected records, sorted.
    consuming func table() throws(Failure) -> RecordTable {
        try RecordTable(Bytes(canonical), unsorted: entries, mentionsFilters: mentionsFilters)
    }

    private mutating func collectRecord(_ reader: inout JSONReader) throws(Failure) {
        let offset = reader.offset
        let members = try reader.object()
        let record = JSONValue.object(members)
        guard let id = record["id"]?.string, !id.isEmpty else { throw .recordWithoutID(offset: offset) }
        guard Identifier.isValid(id.utf8) else { throw .invalidRecordID(id) }
        let entry = try append(members, id: id, offset: offset)
        if record["deleted"]?.bool == true {
            canonical.removeLast(entry.json.count)
            let lastModified = record["last_modified"]?.number.flatMap { Timestamp($0.text) }
            tombstones.append(Tombstone(id: id, lastModified: lastModified))
        } else {
            entries.append(entry)
            mentionsFilters = mentionsFilters || record["filter_expression"] != nil
        }
    }

    private mutating func append(
        _ members: [JSONValue.Member], id: String, offset: Int
    ) throws(Failure) -> RecordTable.Entry {
        let start = canonical.count
        var place = start
        var hasAttachment = false
        try CanonicalJSON.append(members, to: &canonical, offset: offset) { member, start in
            if member.has("id") { place = start + 1 }
            if member.has("attachment") { hasAttachment = true }
        }
        guard canonical.count - start <= Limits.recordBytes else {
            throw .recordTooLarge(offset: offset, what: "bytes (Limits.recordBytes)", limit: Limits.recordBytes)
        }
        return RecordTable.Entry(
            id: place..<place + id.utf8.count, json: start..<canonical.count, hasAttachment: hasAttachment)
    }
}
