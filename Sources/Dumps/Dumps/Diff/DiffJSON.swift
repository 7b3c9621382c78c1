import RemoteSettingsModel

/// A comparison as one JSON document.
///
/// Members are always in the same order, and all are present except those of a missing side. So a field without `old`
/// was created, while a field with `"old": null` existed with the value `null`. If a report exceeds ``DiffLimits``,
/// `omitted` is the number of records or fields left out, and a field with `"cut": true` contains only the beginning of
/// long names and values.
package enum DiffJSON {
    /// Passes the document to `consume` in pieces, formatted like `JSONText.indented`.
    ///
    /// The whole document is never in memory, even with a million changes.
    package static func write(
        _ report: DiffReport, limit: Int = DiffLimits.reportBytes, to consume: ([UInt8]) -> Void
    ) {
        var left = limit
        write(head(report), last: "collections", report.collections, level: 0, to: consume) { diff, level in
            write(head(diff), diff.records, left: &left, level: level, to: consume)
        }
        consume([UInt8(ascii: "\n")])
    }

    /// Writes an object whose last member, `records`, lists changed records until the report reaches its size limit.
    static func write(
        _ members: JSONValue, _ changes: some RandomAccessCollection<RecordChange>, left: inout Int, level: Int,
        to consume: ([UInt8]) -> Void
    ) {
        write(members, last: "records", changes, level: level, to: consume, isFull: { left <= 0 }) { change, level in
            let text = JSONText.text(record(change), .indented, level: level)
            left -= text.count
            consume(text)
        }
    }

    /// Writes an object whose last member is an array, element by element, followed by the number of omitted elements
    /// if there are any.
    ///
    /// - Parameters:
    ///   - isFull: whether to omit the remaining elements.
    ///   - element: writes one element at the given level.
    private static func write<Elements: RandomAccessCollection>(
        _ members: JSONValue, last name: String, _ elements: Elements, level: Int, to consume: ([UInt8]) -> Void,
        isFull: () -> Bool = { false }, element: (Elements.Element, Int) -> Void
    ) {
        func newline(_ level: Int) -> String { "\n" + String(repeating: "  ", count: level) }
        // The object without the line that contains its closing brace.
        let object = JSONText.text(members, .indented, level: level)
        consume(object.dropLast(newline(level).utf8.count + 1) + Array(",\(newline(level + 1))\"\(name)\": [".utf8))
        var written = 0
        for each in elements {
            if isFull() { break }
            consume(Array("\(written == 0 ? "" : ",")\(newline(level + 2))".utf8))
            element(each, level + 2)
            written += 1
        }
        let omitted = elements.count - written
        let note = omitted == 0 ? "" : ",\(newline(level + 1))\"omitted\": \(omitted)"
        consume(Array("\(written == 0 ? "" : newline(level + 1))]\(note)\(newline(level))}".utf8))
    }

    private static func head(_ report: DiffReport) -> JSONValue {
        .members([
            "old": .string(report.old),
            "new": .string(report.new),
            "same": .bool(report.isSame),
            "settings": .array(
                report.settings.map { change in
                    .members([
                        "name": .string(change.name), "old": change.old.map(JSONValue.string),
                        "new": change.new.map(JSONValue.string),
                    ])
                }),
            "counts": counts(
                collections: report.changed.count, records: report.counts, attachments: report.attachments),
        ])
    }

    private static func head(_ diff: SnapshotDiff) -> JSONValue {
        .members([
            "collection": .string("\(diff.collection)"),
            "status": .string(diff.status.rawValue),
            "old": diff.old.map(side),
            "new": diff.new.map(side),
            "counts": counts(collections: nil, records: diff.counts, attachments: diff.attachments),
            "metadata": .array(diff.metadata.shown.map(field)),
            "omittedMetadata": omitted(diff.metadata),
        ])
    }

    private static func counts(collections: Int?, records: RecordCounts, attachments: AttachmentCounts) -> JSONValue {
        .members([
            "collections": collections.map { .count($0) },
            "created": .count(records.created),
            "updated": .count(records.updated),
            "deleted": .count(records.deleted),
            "attachmentsAdded": .count(attachments.added),
            "attachmentsChanged": .count(attachments.changed),
            "attachmentsRemoved": .count(attachments.removed),
            "attachmentBytesAdded": .count(attachments.addedBytes),
            "attachmentBytesRemoved": .count(attachments.removedBytes),
        ])
    }

    private static func side(_ side: SnapshotDiff.Side) -> JSONValue {
        .members([
            "collection": .string("\(side.collection)"),
            "timestamp": .count(side.timestamp.milliseconds),
            "lastModified": .string(side.timestamp.rfc3339),
            "records": .count(side.records),
            "packagedAttachments": side.packagedAttachments.map { .count($0) },
            "trust": .string(side.trust.rawValue),
            "signer": side.verdict.map { .string($0.signer) },
            "root": side.verdict.map { .string($0.root.hex) },
            "signatureExpires": side.verdict.map { .string($0.chainNotAfter.rfc3339) },
            "accepted": side.accepted.isEmpty ? nil : .array(side.accepted.map(JSONValue.string)),
        ])
    }

    private static func record(_ change: RecordChange) -> JSONValue {
        let fields = change.fields()
        return .members([
            "id": .string(change.id),
            "change": .string(change.kind.rawValue),
            "fields": .array(fields.shown.map(field)),
            "omitted": omitted(fields),
            "attachment": change.attachment.map(attachment),
        ])
    }

    private static func omitted(_ fields: FieldChanges) -> JSONValue? {
        fields.omitted == 0 ? nil : .count(fields.omitted)
    }

    private static func field(_ field: FieldChange) -> JSONValue {
        var isCut = false
        func bounded(_ text: String, _ limit: Int) -> String? {
            guard text.utf8.count > limit else { return nil }
            isCut = true
            return VisibleText.excerpt(text, limit: limit)
        }
        let path = field.path.names.map { JSONValue.string(bounded($0, DiffLimits.nameBytes) ?? $0) }
        let values = [field.old, field.new].map { json in
            json.map { json in
                json.count > DiffLimits.valueBytes
                    ? .string(bounded(json.text, DiffLimits.valueBytes) ?? "") : FieldChange.value(json)
            }
        }
        return .members(["path": .array(path), "old": values[0], "new": values[1], "cut": isCut ? .bool(true) : nil])
    }

    private static func attachment(_ change: AttachmentChange) -> JSONValue {
        let word =
            switch change {
            case .added: "added"
            case .removed: "removed"
            case .changed: "changed"
            }
        return .members(["change": .string(word), "old": change.old.map(attachment), "new": change.new.map(attachment)])
    }

    private static func attachment(_ attachment: RecordAttachment) -> JSONValue {
        .members([
            "filename": .string(attachment.filename), "location": .string(attachment.location),
            "mimetype": .string(attachment.mimetype), "sha256": .string(attachment.hash.hex),
            "size": .count(attachment.size),
        ])
    }
}
