import RemoteSettingsModel

/// Finds the differences between two tables of records, down to fields and attachments.
enum RecordComparer {
    static func changes(from old: RecordTable, to new: RecordTable) -> [RecordChange] {
        new.differences(from: old).map { difference in
            switch difference {
            case .created(let record): change(.created, from: nil, to: record)
            case .updated(let old, let new): change(.updated, from: old, to: new)
            case .deleted(let record): change(.deleted, from: record, to: nil)
            }
        }
    }

    private static func change(_ kind: RecordChange.Kind, from old: Record?, to new: Record?) -> RecordChange {
        RecordChange(
            id: new?.id ?? old?.id ?? "", kind: kind, fields: FieldComparer.changes(from: old?.json, to: new?.json),
            attachment: attachmentChange(from: old, to: new), bytes: (old?.json.count ?? 0) + (new?.json.count ?? 0))
    }

    /// The change of the attachment. An incomplete description counts as none; its fields are compared as fields.
    private static func attachmentChange(from old: Record?, to new: Record?) -> AttachmentChange? {
        let before = (try? old?.attachment()) ?? nil
        let after = (try? new?.attachment()) ?? nil
        switch (before, after) {
        case (nil, nil): return nil
        case (nil, let after?): return .added(after)
        case (let before?, nil): return .removed(before)
        case (let before?, let after?): return before == after ? nil : .changed(old: before, new: after)
        }
    }
}
