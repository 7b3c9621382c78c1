import RemoteSettingsModel
import SnapshotBundle

/// The resources that one state of a server makes on the first request and then keeps.
final class MadeResources: Sendable {
    enum Key: Hashable {
        /// The monitor's changeset with this number of the newest entries.
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
