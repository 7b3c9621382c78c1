import RemoteSettingsModel
import SnapshotBundle

/// A cache for the resources that one state of a server creates on the first request.
final class MadeResources: Sendable {
    enum Key: Hashable {
        /// The monitor's changeset with this number of newest entries.
        case monitor(Int)
        case zip(CollectionID)
    }

    private let slots = Mutex<[Key: Lazily<OriginResource?>]>([:])

    func get(_ key: Key, _ make: () throws(BundleError) -> OriginResource?) throws(BundleError) -> OriginResource? {
        let slot = slots.withLock { slots in
            if let known = slots[key] { return known }
            let slot = Lazily<OriginResource?>()
            slots[key] = slot
            return slot
        }
        return try slot.get(make)
    }
}
