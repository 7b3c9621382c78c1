/// The records of a collection, sorted by id, as slices of shared canonical JSON.
///
/// It is a value type. Applying a changeset creates a new table that shares the records' bytes with the old one.
package struct RecordTable: Sendable {
    /// The position of a record in a source. The type is compact, because a table may have a million entries.
    struct Entry: Sendable {
        /// The index of the source that contains the record.
        fileprivate(set) var source: Int32 = 0
        // An id is at most 255 bytes long (``Identifier``).
        private let idCount: UInt8
        /// Whether the record has a member `attachment`.
        let hasAttachment: Bool
        private let idStart: Int
        let json: Range<Int>

        var id: Range<Int> { idStart..<idStart + Int(idCount) }

        /// The position of the id, relative to the record's first byte.
        fileprivate var idInRecord: Range<Int> {
            let start = idStart - json.lowerBound
            return start..<start + Int(idCount)
        }

        /// Creates the position of a record.
        ///
        /// - Parameters:
        ///   - id: the position of a valid id.
        ///   - json: the position of the whole record.
        init(id: Range<Int>, json: Range<Int>, hasAttachment: Bool) {
            self.hasAttachment = hasAttachment
            idStart = id.lowerBound
            idCount = UInt8(clamping: id.count)
            self.json = json
        }
    }

    /// The buffers that contain the records. There are several of them if changesets were applied.
    private let sources: [Bytes]
    /// The positions of the records, sorted by id.
    private let entries: [Entry]

    /// Whether a record may have a member `filter_expression`. If `false`, no record has one.
    package let mayMentionFilters: Bool

    private init(sources: [Bytes], entries: [Entry], mayMentionFilters: Bool) {
        self.sources = sources
        self.entries = entries
        self.mayMentionFilters = mayMentionFilters
    }

    /// Creates a table of records that are in one buffer, in any order.
    ///
    /// - Throws: ``Failure/duplicateRecord(_:)``.
    init(_ source: Bytes, unsorted: [Entry], mentionsFilters: Bool) throws(Failure) {
        var duplicate: String?
        let entries = source.withSpan { span -> [Entry] in
            // Compare the first eight bytes of the ids first, which is enough in most cases.
            var sorted = unsorted.map { (prefix: RecordTable.prefix(span, $0.id), entry: $0) }
            sorted.sort {
                if $0.prefix != $1.prefix { return $0.prefix < $1.prefix }
                return span.extracting($0.entry.id).compare(with: span.extracting($1.entry.id)) < 0
            }
            for (left, right) in zip(sorted, sorted.dropFirst())
            where left.prefix == right.prefix
                && span.extracting(left.entry.id).hasSameBytes(as: span.extracting(right.entry.id))
            {
                duplicate = source[right.entry.id].text
                break
            }
            return sorted.map(\.entry)
        }
        if let duplicate { throw .duplicateRecord(duplicate) }
        self.init(sources: [source], entries: entries, mayMentionFilters: mentionsFilters)
    }

    /// Creates a table of records that are already sorted.
    init(_ source: Bytes, sorted: [Entry], mentionsFilters: Bool) {
        self.init(sources: [source], entries: sorted, mayMentionFilters: mentionsFilters)
    }

    package init() {
        self.init(sources: [], entries: [], mayMentionFilters: false)
    }

    /// Creates a table from records as JSON texts, in any order. The texts do not have to be canonical.
    ///
    /// - Throws: ``Failure`` for the first text that is not a record, or that has the id of an earlier one.
    package init(_ records: some Sequence<Bytes>) throws(Failure) {
        var collector = RecordCollector()
        for record in records { try collector.collect(record: record) }
        self = try collector.table()
    }

    package var count: Int { entries.count }

    /// The record at `position` in the order of ids.
    package subscript(position: Int) -> Record {
        let entry = entries[position]
        return Record(json: source(of: entry)[entry.json], id: entry.idInRecord, mayHaveAttachment: entry.hasAttachment)
    }

    private func source(of entry: Entry) -> Bytes { sources[Int(entry.source)] }

    /// Returns the record with this id, found by binary search; `nil` if there is none.
    package func record(id: String) -> Record? {
        let id = Array(id.utf8)
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            let entry = entries[middle]
            let order = source(of: entry).withSpan { $0.extracting(entry.id).compare(with: id.span) }
            if order == 0 { return self[middle] }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// Returns this table with the changeset's records added and its deleted records removed.
    package func applying(_ changes: RecordTable, tombstones: [Tombstone]) -> RecordTable {
        let removed = Set(tombstones.map(\.id))
        let shift = Int32(clamping: sources.count)
        var merged: [Entry] = []
        merged.reserveCapacity(count + changes.count)
        forEachPair(with: changes) { mine, theirs in
            if let theirs {
                var entry = changes.entries[theirs]
                entry.source += shift
                merged.append(entry)
            } else if let mine {
                let entry = entries[mine]
                if removed.isEmpty || !removed.contains(source(of: entry)[entry.id].text) { merged.append(entry) }
            }
        }
        return RecordTable(
            sources: sources + changes.sources, entries: merged,
            mayMentionFilters: mayMentionFilters || changes.mayMentionFilters)
    }

    /// The total size of all records in bytes.
    package var byteCount: Int { entries.saturatingSum { $0.json.count } }

    /// Appends the records, separated by commas.
    ///
    /// - Returns: the positions of each record and its id in `output`.
    func write(to output: inout [UInt8]) -> [Entry] {
        var written: [Entry] = []
        written.reserveCapacity(entries.count)
        for entry in entries {
            if !written.isEmpty { output.append(UInt8(ascii: ",")) }
            let start = output.count
            let id = start + entry.id.lowerBound - entry.json.lowerBound
            output.append(contentsOf: source(of: entry)[entry.json])
            written.append(
                Entry(id: id..<id + entry.id.count, json: start..<output.count, hasAttachment: entry.hasAttachment))
        }
        return written
    }

    /// Calls `body` for every record with its position in `bytes`, which must be this table's only buffer, and with its
    /// id.
    func forEachPlace(in bytes: Bytes, _ body: (_ place: Range<Int>, _ id: Span<UInt8>) -> Void) {
        bytes.withSpan { span in
            for entry in entries { body(entry.json, span.extracting(entry.id)) }
        }
    }

    /// Returns the canonical JSON of the record at `position`, without copying it.
    func json(at position: Int) -> Bytes {
        let entry = entries[position]
        return source(of: entry)[entry.json]
    }

    /// Iterates over the records of both tables in the order of ids.
    ///
    /// - Parameter body: receives the positions of the records with the next id. A position is `nil` if that table does
    ///   not have the record.
    func forEachPair(with other: RecordTable, _ body: (_ mine: Int?, _ theirs: Int?) -> Void) {
        var (mine, theirs) = (0, 0)
        while mine < count || theirs < other.count {
            let order = mine >= count ? 1 : theirs >= other.count ? -1 : compare(mine, with: theirs, of: other)
            body(order <= 0 ? mine : nil, order >= 0 ? theirs : nil)
            if order <= 0 { mine += 1 }
            if order >= 0 { theirs += 1 }
        }
    }

    /// Compares the id of a record in this table with that of a record in the other table.
    private func compare(_ mine: Int, with theirs: Int, of other: RecordTable) -> Int {
        let entry = entries[mine]
        let otherEntry = other.entries[theirs]
        return source(of: entry).withSpan { left in
            other.source(of: otherEntry).withSpan { right in
                left.extracting(entry.id).compare(with: right.extracting(otherEntry.id))
            }
        }
    }

    /// Returns the first eight bytes of an id, padded with zeros, as a number with the same sort order.
    private static func prefix(_ span: Span<UInt8>, _ id: Range<Int>) -> UInt64 {
        var prefix: UInt64 = 0
        for offset in 0..<8 { prefix = prefix << 8 | (offset < id.count ? UInt64(span[id.lowerBound + offset]) : 0) }
        return prefix
    }
}

extension RecordTable: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { entries.count }
}

/// A change to one record between two states of a collection.
package enum RecordDifference: Sendable, Hashable {
    case created(Record)
    case updated(old: Record, new: Record)
    case deleted(Record)
}

extension RecordTable {
    /// Returns the changes from `old` to this table, in the order of ids. Records with equal bytes are equal.
    package func differences(from old: RecordTable) -> [RecordDifference] {
        var differences: [RecordDifference] = []
        forEachDifference(from: old) { left, right in
            switch (left, right) {
            case (let left?, let right?): differences.append(.updated(old: old[left], new: self[right]))
            case (let left?, nil): differences.append(.deleted(old[left]))
            case (nil, let right?): differences.append(.created(self[right]))
            case (nil, nil): break
            }
        }
        return differences
    }

    /// Finds the same changes as ``differences(from:)``, but passes positions in `old` and in this table. A position is
    /// `nil` if the table does not have the record.
    package func forEachDifference(from old: RecordTable, _ body: (_ old: Int?, _ new: Int?) -> Void) {
        old.forEachPair(with: self) { left, right in
            if let left, let right, old.json(at: left) == json(at: right) { return }
            body(left, right)
        }
    }
}
