import FileStorage
import RemoteSettingsModel

/// What must be written and removed for a store to have a mirror.
///
/// It reads those files that it cannot judge by their names.
struct UploadPlan: Sendable {
    /// The objects to write. They are uploaded in the order of their phases.
    let writes: [UploadObject]
    /// The uploaded objects that the mirror does not name, each with the time since when.
    let superseded: [String: Timestamp]
    /// Those superseded objects that no reader can need any more.
    let removals: [String]
    /// The objects of the mirror that the store already has, by identity.
    let present: [String: String]

    /// - Parameters:
    ///   - listing: what is in the store.
    ///   - keepSeconds: how long objects that no state names are kept.
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
            // If a clock was once ahead, the object must not be kept forever.
            let since = min(state.superseded[key] ?? now, now)
            superseded[key] = since
            // A delta under a name without a state leads to an outdated state, and no list of collections names it.
            let isOutdated = key.contains("/since/") && !key.contains("/at/")
            if isOutdated || now.elapsed(since: since) >= .seconds(keepSeconds) {
                removals.append(key)
            }
        }
        self.superseded = superseded
        self.removals = removals.sorted()
    }

    /// Whether the store has exactly this object.
    private static func has(
        _ object: UploadObject, _ stored: StoredObject?, _ state: StoreState
    ) throws(FileError) -> Bool {
        guard let stored, stored.size == object.size else { return false }
        let isPending = state.pending.contains(object.key)
        if !isPending, state.objects[object.key] == object.identity {
            // Others may have overwritten it, so it is checked again.
            guard object.phase > .content, let md5 = stored.md5 else { return true }
            return try ContentSums(of: object.file).md5 == md5
        }
        // A killed upload may have written it. Only the content can tell, and that is not enough if the object existed
        // before with other headers.
        guard isPending, state.objects[object.key] == nil, let md5 = stored.md5 else { return false }
        return try ContentSums(of: object.file).md5 == md5
    }
}
