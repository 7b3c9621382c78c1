import RemoteSettingsModel

/// What changed between two states of a collection.
///
/// Records are compared by their canonical bytes, never by `last_modified`: what a record says of its own age need not
/// be true of the state that had it.
struct SnapshotDelta {
    /// Records that are new or other than before, sorted by id.
    var changed: [Record] = []
    /// Ids of records that are gone, sorted.
    var deleted: [String] = []

    init(from old: RecordTable, to new: RecordTable) {
        var (left, right) = (0, 0)
        while left < old.count || right < new.count {
            if left == old.count {
                changed.append(new[right])
                right += 1
            } else if right == new.count {
                deleted.append(old[left].id)
                left += 1
            } else {
                let (before, after) = (old[left], new[right])
                if before.id == after.id {
                    if before.json != after.json { changed.append(after) }
                    left += 1
                    right += 1
                } else if before.id.utf8.lexicographicallyPrecedes(after.id.utf8) {
                    deleted.append(before.id)
                    left += 1
                } else {
                    changed.append(after)
                    right += 1
                }
            }
        }
    }

    /// The elements of a changeset's `changes`.
    ///
    /// - Parameter deletedAt: the `last_modified` of tombstones; `nil` leaves it out, as v2 does.
    func changes(deletedAt: Timestamp?) -> [Bytes] {
        let time = deletedAt.map { ",\"last_modified\":\($0)" } ?? ""
        return changed.map(\.json) + deleted.map { Bytes(utf8: "{\"deleted\":true,\"id\":\"\($0)\"\(time)}") }
    }
}
