import RemoteSettingsModel

/// How one record differs between two states of its collection.
public struct RecordChange: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case created
        case updated
        case deleted
    }

    public let id: String
    public let kind: Kind
    /// What differs, in the order of names: of a created or deleted record every field.
    public let fields: [FieldChange]
    /// `nil` where the record's attachment is the same on both sides, or is not fully described.
    public let attachment: AttachmentChange?
    /// Bytes of the record's canonical JSON on both sides: a measure of how much there is to read.
    public let bytes: Int
}

/// How one field of a record differs.
public struct FieldChange: Hashable, Sendable {
    /// The field's name; of a field inside of objects, their names before it.
    public let path: [String]
    /// `nil` where the old record has no such field.
    public let old: JSONValue?
    /// `nil` where the new record has no such field.
    public let new: JSONValue?

    package init(path: [String], old: JSONValue?, new: JSONValue?) {
        self.path = path
        self.old = old
        self.new = new
    }
}

/// How a record's attachment differs.
public enum AttachmentChange: Hashable, Sendable {
    case added(RecordAttachment)
    case removed(RecordAttachment)
    /// Another file, or the same file with another location, name or type.
    case changed(old: RecordAttachment, new: RecordAttachment)

    public var old: RecordAttachment? {
        switch self {
        case .added: nil
        case .removed(let old), .changed(let old, _): old
        }
    }

    public var new: RecordAttachment? {
        switch self {
        case .removed: nil
        case .added(let new), .changed(_, let new): new
        }
    }

    /// Whether only what is said of the file differs, not its bytes.
    public var isSameFile: Bool { old?.hash == new?.hash }
}
