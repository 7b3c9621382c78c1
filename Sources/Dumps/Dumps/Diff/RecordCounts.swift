import RemoteSettingsModel

/// The numbers of records that differ between two states.
package struct RecordCounts: Hashable, Sendable, Encodable {
    package private(set) var created = 0
    package private(set) var updated = 0
    package private(set) var deleted = 0

    package init() {}

    /// Compares all records of two states of a collection.
    package init(from old: RecordTable, to new: RecordTable) {
        new.forEachDifference(from: old) { add(old: $0, new: $1) }
    }

    /// Adds one record by its positions in both tables.
    mutating func add(old: Int?, new: Int?) {
        if old == nil { created += 1 } else if new == nil { deleted += 1 } else { updated += 1 }
    }

    package subscript(kind: RecordChange.Kind) -> Int {
        switch kind {
        case .created: created
        case .updated: updated
        case .deleted: deleted
        }
    }

    package var isEmpty: Bool { self == RecordCounts() }

    static func + (left: RecordCounts, right: RecordCounts) -> RecordCounts {
        var sum = left
        sum.created += right.created
        sum.updated += right.updated
        sum.deleted += right.deleted
        return sum
    }
}
