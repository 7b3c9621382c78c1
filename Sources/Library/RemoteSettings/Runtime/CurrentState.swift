import RemoteSettingsModel
import SnapshotBundle

/// What a process holds of one collection: the snapshot in use, why others are not used, and what it was chosen from.
package struct CurrentState: Sendable {
    /// The snapshot whose records are served; `nil` if there is none.
    package private(set) var snapshot: Snapshot?
    /// Where the snapshot came from.
    package private(set) var source = CollectionStatus.Source.notHeld
    /// Whether the snapshot's signature was verified in this process.
    private(set) var isVerifiedOnDevice = false
    /// Whether the snapshot is imported, or of another environment. A state of the configured server replaces it,
    /// whatever their timestamps are.
    package private(set) var isStandIn = false
    package var rejected: [CollectionStatus.Rejected] = []
    /// Whether unsigned states are refused because the collection is known to be signed.
    var isKnownSigned = false
    /// The stored states that it was chosen from.
    var slot: StorageIndex.Slot
    /// The catalogue in use when this state was found; `nil` without catalogues.
    var view: CatalogueView?
    /// Whether this is the state that the catalogue lists.
    package var isOfCatalogue = false
    /// The usable packaged bundles of the collection, newest first, for their attachments.
    var bundles: [PackagedBundle] = []

    init(from slot: StorageIndex.Slot = .init(), of view: CatalogueView? = nil) {
        (self.slot, self.view) = (slot, view)
    }

    package var timestamp: Timestamp? { snapshot?.timestamp }

    /// The file that has the state in use; `nil` if only a package has it.
    var stored: StoredState? { [slot.current, slot.previous].compactMap(\.self).first { $0.timestamp == timestamp } }

    mutating func serve(
        _ snapshot: Snapshot, from source: CollectionStatus.Source, isVerifiedOnDevice: Bool, isStandIn: Bool = false
    ) {
        self.snapshot = snapshot
        self.source = source
        self.isStandIn = isStandIn
        self.isVerifiedOnDevice = isVerifiedOnDevice && snapshot.provenance.isSigned
    }
}
