/// What a sync changed in a collection, as far as the app's filters let it see.
public struct RecordChanges: Hashable, Sendable {
    public struct Update: Hashable, Sendable {
        public var old: RemoteSettingsRecord
        public var new: RemoteSettingsRecord
    }

    /// All records now.
    public var current: [RemoteSettingsRecord]
    /// Records that were not there before, or were not for this app.
    public var created: [RemoteSettingsRecord]
    public var updated: [Update]
    /// Records that are no longer there, or no longer for this app.
    public var deleted: [RemoteSettingsRecord]

    public var isEmpty: Bool { created.isEmpty && updated.isEmpty && deleted.isEmpty }

    /// - Parameters: both sorted by id.
    init(from old: [RemoteSettingsRecord], to new: [RemoteSettingsRecord]) {
        current = new
        created = []
        updated = []
        deleted = []
        var (before, after) = (0, 0)
        while before < old.count || after < new.count {
            if after == new.count || (before < old.count && old[before].precedes(new[after])) {
                deleted.append(old[before])
                before += 1
            } else if before == old.count || new[after].precedes(old[before]) {
                created.append(new[after])
                after += 1
            } else {
                if old[before] != new[after] { updated.append(Update(old: old[before], new: new[after])) }
                before += 1
                after += 1
            }
        }
    }
}

extension RemoteSettingsRecord {
    /// The order of ids: by bytes.
    fileprivate func precedes(_ other: RemoteSettingsRecord) -> Bool {
        id.utf8.lexicographicallyPrecedes(other.id.utf8)
    }
}
