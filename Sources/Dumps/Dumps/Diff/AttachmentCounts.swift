import RemoteSettingsModel

/// The numbers of changed attachments, and their total sizes.
package struct AttachmentCounts: Hashable, Sendable {
    var added = 0
    var removed = 0
    /// The number of records whose attachment has different bytes.
    var changed = 0
    /// The total size of new files in bytes, including changed ones, as stated in their records.
    var addedBytes: UInt64 = 0
    /// The total size of old files in bytes, including changed ones.
    var removedBytes: UInt64 = 0

    init() {}

    /// Adds one change, unless only the file's description changed.
    mutating func add(_ change: AttachmentChange) {
        guard !change.isSameFile else { return }
        switch change {
        case .added: added += 1
        case .removed: removed += 1
        case .changed: changed += 1
        }
        addedBytes = addedBytes.saturatingAdding(change.new?.size ?? 0)
        removedBytes = removedBytes.saturatingAdding(change.old?.size ?? 0)
    }

    static func + (left: AttachmentCounts, right: AttachmentCounts) -> AttachmentCounts {
        var sum = left
        sum.added += right.added
        sum.removed += right.removed
        sum.changed += right.changed
        sum.addedBytes = left.addedBytes.saturatingAdding(right.addedBytes)
        sum.removedBytes = left.removedBytes.saturatingAdding(right.removedBytes)
        return sum
    }
}
