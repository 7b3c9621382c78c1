import RemoteSettingsModel

/// How one record differs between two states of its collection.
package struct RecordChange: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case created
        case updated
        case deleted
    }

    package let id: String
    package let kind: Kind
    /// The differing fields, sorted by name; of a created or deleted record, every field.
    package let fields: [FieldChange]
    /// `nil` where the record's attachment is the same on both sides, or is not fully described.
    package let attachment: AttachmentChange?
    /// Bytes of the record's canonical JSON on both sides: a measure of how much there is to read.
    package let bytes: Int
}

/// How one field of a record differs.
package struct FieldChange: Hashable, Sendable {
    /// The field's name; of a field inside of objects, their names before it.
    package let path: [String]
    /// `nil` where the old record has no such field.
    package let old: JSONValue?
    /// `nil` where the new record has no such field.
    package let new: JSONValue?
}

/// How a record's attachment differs.
package enum AttachmentChange: Hashable, Sendable {
    case added(RecordAttachment)
    case removed(RecordAttachment)
    /// Another file, or the same file with another location, name or type.
    case changed(old: RecordAttachment, new: RecordAttachment)

    package var old: RecordAttachment? {
        switch self {
        case .added: nil
        case .removed(let old), .changed(let old, _): old
        }
    }

    package var new: RecordAttachment? {
        switch self {
        case .removed: nil
        case .added(let new), .changed(_, let new): new
        }
    }

    /// Whether only the description of the file differs, not its bytes.
    package var isSameFile: Bool { old?.hash == new?.hash }
}
