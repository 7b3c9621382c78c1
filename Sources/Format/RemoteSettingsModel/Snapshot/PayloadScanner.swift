/// Finds the position and the id of each record in a payload.
struct PayloadScanner {
    /// The position after the last record that was found; 0 before the first one.
    private var position = 0
    private var entries: [RecordTable.Entry] = []
    /// Whether a record has a member `filter_expression`.
    private(set) var mentionsFilters = false

    /// Creates a scanner.
    ///
    /// - Parameter records: the expected number of records, for which memory is reserved within a limit.
    init(records: Int) {
        entries.reserveCapacity(min(records, 1 << 14))
    }

    /// Finds all records and the timestamp.
    mutating func scan(_ input: Span<UInt8>) throws(Failure) -> ([RecordTable.Entry], Timestamp) {
        while try findRecord(input) {}
        try pass("],\"last_modified\":\"", input)
        let start = position
        while let digit = byte(input), (digit &- 48) < 10 { position += 1 }
        guard let timestamp = Timestamp(input.extracting(start..<position).text) else {
            throw .notCanonical(problem: "last_modified at byte \(start) is not a timestamp")
        }
        try pass("\"}", input)
        guard position == input.count else {
            throw .notCanonical(problem: "there is text after the end of the payload")
        }
        return (entries, timestamp)
    }

    /// Finds the next record.
    ///
    /// - Returns: whether there is one.
    private mutating func findRecord(_ input: Span<UInt8>) throws(Failure) -> Bool {
        if position == 0 { try pass("{\"data\":[", input) }
        if let last = entries.last {
            guard byte(input) == UInt8(ascii: ",") else { return false }
            position += 1
            guard entries.count < Limits.records else { throw .tooManyRecords(limit: Limits.records) }
            let entry = try record(input)
            guard input.extracting(last.id).compare(with: input.extracting(entry.id)) < 0 else {
                throw .notCanonical(problem: "the records are not sorted by id at byte \(position)")
            }
            entries.append(entry)
        } else {
            guard byte(input) != UInt8(ascii: "]") else { return false }
            entries.append(try record(input))
        }
        return true
    }

    private mutating func record(_ input: Span<UInt8>) throws(Failure) -> RecordTable.Entry {
        let start = position
        guard byte(input) == UInt8(ascii: "{") else { throw broken(input) }
        // Use a local copy, which the compiler keeps in a register.
        var position = start + 1
        var depth = 1
        var id: Range<Int>?
        var hasAttachment = false
        // Whether the next string is a key of the record itself. Keys of nested values are ignored.
        var expectsKey = true
        while depth > 0 {
            guard position < input.count else { throw broken(input, at: position) }
            let found = unsafe input[unchecked: position]
            position += 1
            switch found {
            case UInt8(ascii: "\""):
                let string = try endString(input, &position)
                if expectsKey {
                    if id == nil, isKey(input, string, "id") {
                        id = try idValue(input, &position, record: start)
                    } else if isKey(input, string, "attachment") {
                        hasAttachment = true
                    } else if isKey(input, string, "filter_expression") {
                        mentionsFilters = true
                    }
                    expectsKey = false
                }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                expectsKey = false
                guard depth <= Limits.jsonDepth else {
                    throw Failure(.tooDeep(limit: Limits.jsonDepth), at: position - 1)
                }
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ","): expectsKey = depth == 1
            default: break
            }
        }
        self.position = position
        guard position - start <= Limits.recordBytes else {
            throw .recordTooLarge(offset: start, what: "bytes (Limits.recordBytes)", limit: Limits.recordBytes)
        }
        guard let id else { throw .recordWithoutID(offset: start) }
        guard Identifier.isValid(input.extracting(id)) else { throw .invalidRecordID(input.extracting(id).text) }
        return RecordTable.Entry(id: id, json: start..<position, hasAttachment: hasAttachment)
    }

    private func idValue(_ input: Span<UInt8>, _ position: inout Int, record: Int) throws(Failure) -> Range<Int> {
        guard position < input.count, input[position] == UInt8(ascii: ":") else { throw broken(input, at: position) }
        position += 1
        guard position < input.count, input[position] == UInt8(ascii: "\"") else {
            throw .recordWithoutID(offset: record)
        }
        position += 1
        return try endString(input, &position)
    }

    /// Skips the rest of a string and its closing quote. Canonical strings are ASCII, so only quotes and backslashes
    /// need attention.
    @inline(__always)
    private func endString(_ input: Span<UInt8>, _ position: inout Int) throws(Failure) -> Range<Int> {
        let start = position
        while true {
            JSONLexer.skipPlain(input, &position)
            guard position < input.count else { throw broken(input, at: position) }
            let found = unsafe input[unchecked: position]
            if found == UInt8(ascii: "\"") { break }
            guard found == UInt8(ascii: "\\") else { throw broken(input, at: position) }
            position += 2
        }
        position += 1
        return start..<position - 1
    }

    @inline(__always)
    private func isKey(_ input: Span<UInt8>, _ key: Range<Int>, _ name: StaticString) -> Bool {
        guard key.count == name.utf8CodeUnitCount else { return false }
        for (offset, index) in key.enumerated() where unsafe input[index] != name.utf8Start[offset] { return false }
        return true
    }

    @inline(__always)
    private func byte(_ input: Span<UInt8>) -> UInt8? {
        position < input.count ? unsafe input[unchecked: position] : nil
    }

    private mutating func pass(_ text: StaticString, _ input: Span<UInt8>) throws(Failure) {
        for index in 0..<text.utf8CodeUnitCount {
            guard unsafe byte(input) == text.utf8Start[index] else { throw broken(input) }
            position += 1
        }
    }

    private func broken(_ input: Span<UInt8>) -> Failure { broken(input, at: position) }

    @inline(never)
    private func broken(_ input: Span<UInt8>, at position: Int) -> Failure {
        .notCanonical(
            problem: position >= input.count ? "the text is truncated" : "unexpected text at byte \(position)")
    }
}
