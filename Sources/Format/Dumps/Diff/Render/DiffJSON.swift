import RemoteSettingsModel

/// A comparison as one JSON document.
///
/// All members are always there, in this order, except those of a side that does not exist. A field without `old` was
/// therefore created, and a field with `"old": null` was null.
package enum DiffJSON {
    /// Passes the document's text to `consume` in pieces, in the form of `JSONText.indented`.
    ///
    /// The whole text is never in memory, not even for a million changes.
    package static func write(_ report: DiffReport, to consume: ([UInt8]) -> Void) {
        write(head(report), last: "collections", report.collections, level: 0, to: consume) { diff, level in
            write(head(diff), last: "records", diff.records, level: level, to: consume) { change, level in
                consume(JSONText.text(record(change), .indented, level: level))
            }
        }
        consume([UInt8(ascii: "\n")])
    }

    /// Writes an object whose last member is an array, element by element.
    ///
    /// - Parameter element: writes one element at the given level.
    private static func write<Elements: Sequence>(
        _ members: JSONValue, last name: String, _ elements: Elements, level: Int, to consume: ([UInt8]) -> Void,
        element: (Elements.Element, Int) -> Void
    ) {
        func newline(_ level: Int) -> String { "\n" + String(repeating: "  ", count: level) }
        // The object's text without the line of its closing brace.
        let object = JSONText.text(members, .indented, level: level)
        consume(object.dropLast(newline(level).utf8.count + 1) + Array(",\(newline(level + 1))\"\(name)\": [".utf8))
        var isFirst = true
        for each in elements {
            consume(Array("\(isFirst ? "" : ",")\(newline(level + 2))".utf8))
            element(each, level + 2)
            isFirst = false
        }
        consume(Array("\(isFirst ? "" : newline(level + 1))]\(newline(level))}".utf8))
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
                collections: report.changed.count, records: { report.count($0) }, attachments: report.attachments),
        ])
    }

    private static func head(_ diff: SnapshotDiff) -> JSONValue {
        .members([
            "collection": .string("\(diff.collection)"),
            "status": .string(diff.status.rawValue),
            "old": diff.old.map(side),
            "new": diff.new.map(side),
            "counts": counts(collections: nil, records: { diff.count($0) }, attachments: diff.attachments),
            "metadata": .array(diff.metadata.map(field)),
        ])
    }

    private static func counts(
        collections: Int?, records: (RecordChange.Kind) -> Int, attachments: AttachmentCounts
    ) -> JSONValue {
        .members([
            "collections": collections.map { .count($0) },
            "created": .count(records(.created)),
            "updated": .count(records(.updated)),
            "deleted": .count(records(.deleted)),
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
            "signer": side.signer.map(JSONValue.string),
            "accepted": side.accepted.isEmpty ? nil : .array(side.accepted.map(JSONValue.string)),
        ])
    }

    static func record(_ change: RecordChange) -> JSONValue {
        .members([
            "id": .string(change.id),
            "change": .string(change.kind.rawValue),
            "fields": .array(change.fields.map(field)),
            "attachment": change.attachment.map(attachment),
        ])
    }

    private static func field(_ field: FieldChange) -> JSONValue {
        .members(["path": .array(field.path.map(JSONValue.string)), "old": field.old, "new": field.new])
    }

    private static func attachment(_ change: AttachmentChange) -> JSONValue {
        let word =
            switch change {
            case .added: "added"
            case .removed: "removed"
            case .changed: "changed"
            }
        return .members([
            "change": .string(word), "old": change.old.map(attachment), "new": change.new.map(attachment),
        ])
    }

    private static func attachment(_ attachment: RecordAttachment) -> JSONValue {
        .members([
            "filename": .string(attachment.filename), "location": .string(attachment.location),
            "mimetype": .string(attachment.mimetype), "sha256": .string(attachment.hash.hex),
            "size": .count(attachment.size),
        ])
    }
}
