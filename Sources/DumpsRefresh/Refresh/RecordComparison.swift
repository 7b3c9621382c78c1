import RemoteSettingsModel

/// Counts how two states of a collection differ.
enum RecordComparison {
    static func changes(from old: RecordTable, to new: RecordTable) -> CollectionOutcome.RecordCounts {
        var changes = CollectionOutcome.RecordCounts()
        for difference in new.differences(from: old) {
            switch difference {
            case .created: changes.created += 1
            case .updated: changes.updated += 1
            case .deleted: changes.deleted += 1
            }
        }
        return changes
    }
}
