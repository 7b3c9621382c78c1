import RemoteSettingsModel
import SnapshotBundle

/// The state of one collection in a process: the snapshot in use, the reasons that others are not used, and the stored
/// states that it was chosen from.
package struct CurrentState: Sendable {
    /// The snapshot whose records are in use; `nil` if there is none.
    package private(set) var snapshot: Snapshot?
    /// The place that the snapshot came from.
    package private(set) var source = CollectionStatus.Source.noSnapshot
    /// Whether the snapshot's signature was verified in this process.
    private(set) var isVerifiedOnDevice = false
    /// Whether the snapshot was imported or comes from a different environment. Any state of the configured server
    /// replaces it, regardless of the timestamps.
    package private(set) var isStandIn = false
    package var rejected: [CollectionStatus.Rejected] = []
    /// Whether unsigned states are refused because the collection is known to be signed.
    var isKnownSigned = false
    /// The stored states that the snapshot was chosen from.
    var slot: StorageIndex.Slot
    /// The current stored state, if it was read and its content cannot be used.
    var refused: StoredState?
    /// The usable packaged bundles of the collection, newest first, as a source of attachments.
    var bundles: [PackagedBundle] = []

    init(from slot: StorageIndex.Slot = .init()) { self.slot = slot }

    package var timestamp: Timestamp? { snapshot?.timestamp }

    /// The stored file of the state in use; `nil` if the state is only packaged.
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
