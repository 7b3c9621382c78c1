import RemoteSettingsModel

/// A comparison as one JSON document. All members are always present, in this order, except those of a side that does not
/// exist: a field without `old` was created, one with `"old": null` was null.
package enum DiffJSON {
    package static func document(_ report: DiffReport) -> JSONValue {
        .members([
            "old": .string(report.old),
            "new": .string(report.new),
            "same": .bool(report.isSame),
            "counts": counts(
                collections: report.changed.count, records: { report.count($0) }, attachments: report.attachments),
            "collections": .array(report.collections.map(collection)),
        ])
    }

    private static func collection(_ diff: SnapshotDiff) -> JSONValue {
        .members([
            "collection": .string("\(diff.collection)"),
            "status": .string(diff.status.rawValue),
            "old": diff.old.map(side),
            "new": diff.new.map(side),
            "counts": counts(collections: nil, records: { diff.count($0) }, attachments: diff.attachments),
            "records": .array(diff.records.map(record)),
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
        ])
    }

    private static func record(_ change: RecordChange) -> JSONValue {
        .members([
            "id": .string(change.id),
            "change": .string(change.kind.rawValue),
            "fields": .array(
                change.fields.map { field in
                    .members([
                        "path": .array(field.path.map(JSONValue.string)), "old": field.old, "new": field.new,
                    ])
                }),
            "attachment": change.attachment.map(attachment),
        ])
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
