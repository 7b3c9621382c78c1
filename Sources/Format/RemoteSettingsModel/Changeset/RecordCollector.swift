/// Reads the array of a changeset's records into one buffer of canonical JSON.
struct RecordCollector: ~Copyable {
    private var canonical: CanonicalJSON
    private var entries: [RecordTable.Entry] = []
    private(set) var tombstones: [Tombstone] = []
    private var mentionsFilters = false
    private let limits: Limits

    init(limits: Limits) {
        canonical = CanonicalJSON(limits: limits)
        self.limits = limits
    }

    /// Reads the array at `position`.
    mutating func collect(_ input: Span<UInt8>, _ position: inout Int) throws(FormatError) {
        canonical.reserve(input.count - position)
        try begin(UInt8(ascii: "["), "an array of records", input, &position)
        position += 1
        var isFirst = true
        while try nextItem(isFirst: isFirst, input, &position) {
            isFirst = false
            guard entries.count + tombstones.count < limits.records else {
                throw .tooManyRecords(limit: limits.records)
            }
            try collectRecord(input, &position)
        }
    }

    /// Checks that a value begins with this bracket.
    private func begin(
        _ bracket: UInt8, _ expected: String, _ input: Span<UInt8>, _ position: inout Int
    ) throws(FormatError) {
        JSONLexer.skipWhitespace(input, &position)
        let found = try JSONLexer.peek(input, position)
        guard found != bracket else { return }
        throw FormatError(.wrongType(expected: expected, found: JSONLexer.kind(startingWith: found)), at: position)
    }

    /// Reads a record that must be the whole text.
    mutating func collect(record text: Bytes) throws(FormatError) {
        guard entries.count < limits.records else { throw .tooManyRecords(limit: limits.records) }
        var position = 0
        try text.withSpan { (span) throws(FormatError) in try collectRecord(span, &position) }
        guard position == text.count else { throw FormatError(.trailingData, at: position) }
    }

    /// The collected records, sorted.
    consuming func table() throws(FormatError) -> RecordTable {
        try RecordTable(canonical.finish(), unsorted: entries, mentionsFilters: mentionsFilters)
    }

    private mutating func collectRecord(_ input: Span<UInt8>, _ position: inout Int) throws(FormatError) {
        let start = canonical.output.count
        let valuesBefore = canonical.values
        try begin(UInt8(ascii: "{"), "a record", input, &position)
        let inputStart = position
        let base = try canonical.writeObject(input, &position, depth: 2)

        guard canonical.output.count - start <= limits.recordBytes else {
            throw .recordTooLarge(offset: inputStart, what: "bytes (Limits.recordBytes)", limit: limits.recordBytes)
        }
        guard canonical.values - valuesBefore < limits.jsonValues else {
            throw .recordTooLarge(offset: inputStart, what: "values (Limits.jsonValues)", limit: limits.jsonValues)
        }

        var (isDeleted, hasAttachment) = (false, false)
        var id: Range<Int>?
        var lastModified: Range<Int>?
        for member in canonical.openMembers(from: base) {
            if member.hasKey("id", in: canonical.output) {
                id = member.value
            } else if member.hasKey("deleted", in: canonical.output) {
                isDeleted = member.hasValue("true", in: canonical.output)
            } else if member.hasKey("last_modified", in: canonical.output) {
                lastModified = member.value
            } else if member.hasKey("attachment", in: canonical.output) {
                hasAttachment = true
            } else if member.hasKey("filter_expression", in: canonical.output) {
                mentionsFilters = true
            }
        }
        guard let id, id.count > 2, canonical.output[id.lowerBound] == UInt8(ascii: "\"") else {
            throw .recordWithoutID(offset: inputStart)
        }
        let text = id.lowerBound + 1..<id.upperBound - 1
        guard canonical.output.withSpan({ Identifier.isValid($0.extracting(text)) }) else {
            throw .invalidRecordID(self.text(text))
        }
        if isDeleted {
            tombstones.append(
                Tombstone(id: self.text(text), lastModified: lastModified.flatMap { Timestamp(self.text($0)) }))
            canonical.discardObject(from: base, start: start)
        } else {
            canonical.forgetMembers(from: base)
            entries.append(
                RecordTable.Entry(id: text, json: start..<canonical.output.count, hasAttachment: hasAttachment))
        }
    }

    private func text(_ range: Range<Int>) -> String {
        canonical.output.withSpan { $0.extracting(range).text }
    }

    private func nextItem(
        isFirst: Bool, _ input: Span<UInt8>, _ position: inout Int
    ) throws(FormatError) -> Bool {
        try JSONLexer.nextItem(closing: UInt8(ascii: "]"), isFirst: isFirst, input, &position)
    }
}
