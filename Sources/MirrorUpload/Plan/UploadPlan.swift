import FileStorage
import RemoteSettingsModel

/// What has to be written and removed, so that a store has a mirror. Reads the files that it cannot judge by their names.
struct UploadPlan: Sendable {
    /// In the order of their phases.
    let writes: [UploadObject]
    /// Objects of uploads that the mirror does not name, each with the time since when.
    let superseded: [String: Timestamp]
    /// Of these, the ones that no reader can need any more.
    let removals: [String]
    /// What the store has of the mirror already, by identity.
    let present: [String: String]

    /// - Parameters:
    ///   - listing: what is in the store.
    ///   - keepSeconds: how long objects are kept that no state names.
    /// - Throws: `FileError`.
    init(
        _ mirror: MirrorObjects, listing: [String: StoredObject], state: StoreState, now: Timestamp, keepSeconds: Int
    ) throws(FileError) {
        var (writes, present) = ([UploadObject](), [String: String]())
        for object in mirror.objects {
            if try Self.has(object, listing[object.key], state) {
                present[object.key] = object.identity
            } else {
                writes.append(object)
            }
        }
        self.writes = writes.sorted { ($0.phase, $0.key) < ($1.phase, $1.key) }
        self.present = present
        let wanted = Set(mirror.objects.map(\.key))
        var (superseded, removals) = ([String: Timestamp](), [String]())
        for key in Set(state.objects.keys).union(state.pending).union(state.superseded.keys)
        where listing[key] != nil && !wanted.contains(key) {
            // A clock that was ahead once must not keep it for ever.
            let since = min(state.superseded[key] ?? now, now)
            superseded[key] = since
            // A delta under a name without a state leads to an outdated one, and no list of collections names it.
            let isOutdated = key.contains("/since/") && !key.contains("/at/")
            if isOutdated || now.elapsed(since: since) >= .seconds(keepSeconds) {
                removals.append(key)
            }
        }
        self.superseded = superseded
        self.removals = removals.sorted()
    }

    /// Whether the store has an object as it is to be.
    private static func has(
        _ object: UploadObject, _ stored: StoredObject?, _ state: StoreState
    ) throws(FileError) -> Bool {
        guard let stored, stored.size == object.size else { return false }
        let isPending = state.pending.contains(object.key)
        if !isPending, state.objects[object.key] == object.identity {
            // What others may have overwritten is looked at again.
            guard object.phase > .content, let md5 = stored.md5 else { return true }
            return try ContentSums(of: object.file).md5 == md5
        }
        // An upload that was ended in the middle may have written it. That goes by the content, and so only for an object that
        // was not there with other headers before.
        guard isPending, state.objects[object.key] == nil, let md5 = stored.md5 else { return false }
        return try ContentSums(of: object.file).md5 == md5
    }
}
