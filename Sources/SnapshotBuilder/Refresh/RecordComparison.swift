import RemoteSettingsModel

/// Counts how two states of a collection differ.
enum RecordComparison {
    static func changes(from old: RecordTable, to new: RecordTable) -> CollectionOutcome.RecordChanges {
        var changes = CollectionOutcome.RecordChanges()
        var (left, right) = (0, 0)
        while left < old.count || right < new.count {
            if left == old.count {
                changes.created += 1
                right += 1
            } else if right == new.count {
                changes.deleted += 1
                left += 1
            } else {
                let (a, b) = (old[left], new[right])
                if a.id == b.id {
                    if a.json != b.json { changes.updated += 1 }
                    left += 1
                    right += 1
                } else if a.id.utf8.lexicographicallyPrecedes(b.id.utf8) {
                    changes.deleted += 1
                    left += 1
                } else {
                    changes.created += 1
                    right += 1
                }
            }
        }
        return changes
    }
}
