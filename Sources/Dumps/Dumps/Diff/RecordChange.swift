import RemoteSettingsModel

/// A change of one record between two states of its collection.
///
/// It refers to the two records. Their differences are computed on request and not stored, because a comparison may
/// have a million changes.
package struct RecordChange: Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case created
        case updated
        case deleted
    }

    package let id: String
    package let kind: Kind
    private let old: Bytes?
    private let new: Bytes?

    init(created new: Record) {
        (id, kind, old, self.new) = (new.id, .created, nil, new.json)
    }

    init(deleted old: Record) {
        (id, kind, self.old, new) = (old.id, .deleted, old.json, nil)
    }

    init(from old: Record, to new: Record) {
        (id, kind, self.old, self.new) = (new.id, .updated, old.json, new.json)
    }

    /// Returns the fields that differ, sorted by name. For a created or deleted record, these are all its fields.
    ///
    /// - Parameter isIncluded: a closure that is called with the path of each differing field, to select the ones to
    ///   return.
    package func fields(where isIncluded: (FieldPath) -> Bool = { _ in true }) -> FieldChanges {
        FieldComparer.changes(from: old, to: new, where: isIncluded)
    }

    /// The change of the attachment; `nil` if it is the same on both sides, or if a record describes it incompletely.
    ///
    /// An incompletely described attachment is compared like other fields.
    var attachment: AttachmentChange? {
        func attachment(_ json: Bytes?) -> RecordAttachment? {
            json.flatMap { try? Record(id: id, json: $0).attachment() }
        }
        switch (attachment(old), attachment(new)) {
        case (nil, nil): return nil
        case (nil, let after?): return .added(after)
        case (let before?, nil): return .removed(before)
        case (let before?, let after?): return before == after ? nil : .changed(old: before, new: after)
        }
    }

    /// The members of the new record, in order of name; `nil` if it was deleted.
    package var members: [JSONValue.Member]? {
        guard let new, case .object(let members)? = try? JSONValue(parsing: new) else { return nil }
        return members
    }

    /// The total size of the record's canonical JSON on both sides in bytes, as an estimate of how much there is to
    /// review.
    package var bytes: Int { (old?.count ?? 0) + (new?.count ?? 0) }
}

/// The records that differ between two states of a collection, in order of id.
///
/// It stores the positions in both tables, and creates each ``RecordChange`` on request.
package struct ChangedRecords: RandomAccessCollection, Sendable {
    private let old: RecordTable
    private let new: RecordTable
    /// The positions of each record; -1 if it is not in that table.
    private var places: [(old: Int, new: Int)] = []
    package private(set) var counts = RecordCounts()
    /// The totals of all attachment changes.
    private(set) var attachments = AttachmentCounts()

    /// Compares all records. Two empty tables have no changes.
    init(from old: RecordTable = RecordTable(), to new: RecordTable = RecordTable()) {
        self.old = old
        self.new = new
        new.forEachDifference(from: old) { old, new in
            places.append((old ?? -1, new ?? -1))
            counts.add(old: old, new: new)
        }
        for change in self {
            if let attachment = change.attachment { attachments.add(attachment) }
        }
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { places.count }

    package subscript(position: Int) -> RecordChange {
        let place = places[position]
        if place.old < 0 { return RecordChange(created: new[place.new]) }
        if place.new < 0 { return RecordChange(deleted: old[place.old]) }
        return RecordChange(from: old[place.old], to: new[place.new])
    }

    /// Returns the changes with the most bytes, largest first. Changes of equal size are in order of id.
    func largest(_ most: Int) -> [RecordChange] {
        // Keep more candidates than needed, so that sorting is rare.
        var found: [(bytes: Int, position: Int)] = []
        func sortFound() {
            found.sort { $0.bytes == $1.bytes ? $0.position < $1.position : $0.bytes > $1.bytes }
            found.removeSubrange(Swift.min(most, found.count)...)
        }
        for (position, change) in enumerated() {
            if found.count >= 4 * most { sortFound() }
            found.append((change.bytes, position))
        }
        sortFound()
        return found.map { self[$0.position] }
    }
}

/// A change of a record's attachment.
enum AttachmentChange: Hashable, Sendable {
    case added(RecordAttachment)
    case removed(RecordAttachment)
    /// A different file, or the same file with a different location, name or type.
    case changed(old: RecordAttachment, new: RecordAttachment)

    var old: RecordAttachment? {
        switch self {
        case .added: nil
        case .removed(let old), .changed(let old, _): old
        }
    }

    var new: RecordAttachment? {
        switch self {
        case .removed: nil
        case .added(let new), .changed(_, let new): new
        }
    }

    /// Whether the bytes are the same and only the file's description differs.
    var isSameFile: Bool { old?.hash == new?.hash }
}
