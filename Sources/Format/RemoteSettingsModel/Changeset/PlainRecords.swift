/// Reads lists of plain records, which need nothing but their canonical form. Each has a string as its id and no member
/// that publishing treats specially. It reads the text in one pass, and makes no other form of a record.
package struct PlainRecords: ~Copyable {
    private var collector: RecordCollector

    package init(limits: Limits) {
        collector = RecordCollector(limits: limits, isPlain: true)
    }

    /// Reads a list of records, which must be the whole text.
    ///
    /// - Returns: whether all of them are plain. If not, this reader must not be used further.
    /// - Throws: ``ChangesetError`` if the text is not a list of records.
    package mutating func collect(list text: Bytes) throws(ChangesetError) -> Bool {
        var position = 0
        try text.withSpan { (span) throws(ChangesetError) in
            try collector.collect(span, &position)
            JSONLexer.skipWhitespace(span, &position)
        }
        guard position == text.count else { throw .json(JSONError(.trailingData, at: position)) }
        return !collector.foundOther && collector.tombstones.isEmpty
    }

    /// The records, sorted, for ``RecordTable/stamped(onto:at:)``.
    ///
    /// - Throws: ``ChangesetError/duplicateRecord(_:)``.
    package consuming func table() throws(ChangesetError) -> RecordTable { try collector.table() }
}

/// Members that make a record not plain, in the order of their bytes, which is their order in canonical JSON.
enum PlainMember {
    static let stamp: StaticString = "last_modified"

    /// The place for a member `last_modified` among the members of a canonical record; `nil` if one of them is not
    /// plain, or if the place is too far from the start.
    static func place(
        among members: ArraySlice<CanonicalMember>, of record: Range<Int>, in output: borrowing OutputBuffer
    ) -> UInt16? {
        var place: Int?
        for member in members {
            guard member.hasPlainKey, !member.hasKey(stamp, in: output), !member.hasKey("deleted", in: output),
                !member.hasKey("attachment", in: output), !member.hasKey("filter_expression", in: output)
            else { return nil }
            if place == nil, follows(member.key, in: output) { place = member.range.lowerBound - record.lowerBound }
        }
        // Before the closing brace.
        return UInt16(exactly: place ?? record.count - 1)
    }

    private static func follows(_ key: Range<Int>, in output: borrowing OutputBuffer) -> Bool {
        let count = stamp.utf8CodeUnitCount
        for offset in 0..<Swift.min(key.count, count) {
            let (found, own) = unsafe (output[key.lowerBound + offset], stamp.utf8Start[offset])
            if found != own { return found > own }
        }
        return key.count > count
    }
}

extension RecordTable {
    /// These records with a member `last_modified` in each. A record that is otherwise the same as a known one keeps
    /// that record's value and shares its bytes. All others get `time`.
    package func stamped(onto known: RecordTable, at time: Timestamp) -> RecordTable {
        let member = Array("\"last_modified\":\(time)".utf8)
        var written: [UInt8] = []
        var entries: [Entry] = []
        var removed: [Tombstone] = []
        forEachPair(with: known) { mine, theirs in
            if let mine {
                if let theirs, isSame(mine, stampedAs: known.json(at: theirs)) { return }
                entries.append(stamp(mine, with: member, to: &written))
            } else if let theirs {
                removed.append(Tombstone(id: known[theirs].id, lastModified: nil))
            }
        }
        let changed = RecordTable(Bytes(written), sorted: entries, mentionsFilters: false)
        return known.applying(changed, tombstones: removed)
    }

    /// Whether a record is this one plus a member `last_modified`.
    private func isSame(_ position: Int, stampedAs json: Bytes) -> Bool {
        let (own, place) = (self.json(at: position), stampPlace(position))
        let count = json.count - own.count
        guard count > 0 else { return false }
        return own.withSpan { own in
            json.withSpan { json in
                guard own.extracting(0..<place).hasSameBytes(as: json.extracting(0..<place)),
                    own.extracting(place..<own.count).hasSameBytes(as: json.extracting(place + count..<json.count))
                else { return false }
                return Self.isStamp(json.extracting(place..<place + count), isLast: place == own.count - 1)
            }
        }
    }

    /// Whether a text is a member `last_modified` with a timestamp as its value, including its comma.
    private static func isStamp(_ text: Span<UInt8>, isLast: Bool) -> Bool {
        var text = text
        guard text.count > 2, text[isLast ? 0 : text.count - 1] == UInt8(ascii: ",") else { return false }
        text = isLast ? text.extracting(1..<text.count) : text.extracting(0..<text.count - 1)
        let head = PlainMember.stamp.utf8CodeUnitCount + 3
        // 19 digits fit into 64 bits.
        guard text.count > head, text.count <= head + 19, text[0] == UInt8(ascii: "\""),
            text[head - 2] == UInt8(ascii: "\""), text[head - 1] == UInt8(ascii: ":")
        else { return false }
        for offset in 0..<head - 3 where unsafe text[1 + offset] != PlainMember.stamp.utf8Start[offset] { return false }
        for offset in head..<text.count where text[offset] &- 48 > 9 { return false }
        return true
    }

    private func stamp(_ position: Int, with member: [UInt8], to output: inout [UInt8]) -> Entry {
        let (own, place, id) = (self.json(at: position), stampPlace(position), idPlace(position))
        let start = output.count
        let comma = UInt8(ascii: ",")
        output.append(contentsOf: own[0..<place])
        output += place == own.count - 1 ? [comma] + member : member + [comma]
        output.append(contentsOf: own[place..<own.count])
        let shift = start + (id.lowerBound >= place ? member.count + 1 : 0)
        return Entry(
            id: id.lowerBound + shift..<id.upperBound + shift, json: start..<output.count, hasAttachment: false)
    }
}
