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
    /// What matters for whether another state replaces the snapshot; `nil` if there is none.
    package private(set) var standing: Standing?
    package var unused: [CollectionStatus.Unused] = []
    /// Whether unsigned states are refused because the collection is known to be signed.
    var isKnownSigned = false
    /// The stored states that the snapshot was chosen from.
    var slot: StorageIndex.Slot
    /// The current stored state, if it was read and its content cannot be used.
    var refused: StoredState?
    /// The usable packaged bundles of the collection, newest first, as a source of attachments.
    var bundles: [PackagedBundle] = []

    init(from slot: StorageIndex.Slot = .init()) { self.slot = slot }

    /// Returns whether a state would take the place of this one; `.replace` if there is none.
    func succession(of offered: Standing) -> Succession {
        standing.map { SnapshotBundle.succession(of: offered, after: $0, in: Situation(.stored)) } ?? .replace
    }

    package var timestamp: Timestamp? { snapshot?.timestamp }
    /// See ``Standing/isStandIn``.
    package var isStandIn: Bool { standing?.isStandIn ?? false }

    /// The stored file of the state in use; `nil` if the state is only packaged.
    var stored: StoredState? { [slot.current, slot.previous].compactMap(\.self).first { $0.timestamp == timestamp } }

    mutating func serve(
        _ snapshot: Snapshot, from source: CollectionStatus.Source, isVerifiedOnDevice: Bool, isOwn: Bool = true
    ) {
        self.snapshot = snapshot
        self.source = source
        standing = Standing(snapshot.timestamp, snapshot.provenance, isOwn: isOwn)
        self.isVerifiedOnDevice = isVerifiedOnDevice && snapshot.provenance.isSigned
    }
}
