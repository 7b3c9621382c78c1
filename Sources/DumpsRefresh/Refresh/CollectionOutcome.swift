import RemoteSettingsModel
import SnapshotBundle

/// The result of a refresh for one collection.
public struct CollectionOutcome: Sendable {
    public enum Status: String, Hashable, Sendable {
        case unchanged
        case created
        case updated
        /// The bundle was missing or damaged and has been made again.
        case repaired
        /// The same records, with other attachments than before.
        case repacked
        /// It is unchanged at its pinned state.
        case pinned
        case failed
        /// A dry run: what would have been done.
        case planned
    }

    /// How many records differ from the bundle before.
    public struct RecordCounts: Hashable, Sendable {
        public var created = 0
        public var updated = 0
        public var deleted = 0

        public init() {}

        init(from old: RecordTable, to new: RecordTable) {
            for difference in new.differences(from: old) {
                switch difference {
                case .created: created += 1
                case .updated: updated += 1
                case .deleted: deleted += 1
                }
            }
        }
    }

    /// Where the bundle's attachments came from, in files.
    public struct GatheredAttachments: Hashable, Sendable {
        public var reused = 0
        /// Downloaded by an earlier, interrupted refresh.
        public var resumed = 0
        public var fromZip = 0
        public var downloaded = 0
        public var downloadedBytes: UInt64 = 0

        public init() {}
    }

    public let id: CollectionID
    public var status: Status
    public var action: PlannedCollection.Action
    public var previous: Timestamp?
    public var serverTimestamp: Timestamp?
    /// The lock's entry after the refresh; `nil` where there is none.
    public var entry: LockFile.Collection?
    public var changes: RecordCounts?
    /// The state of its pin; `nil` if it has none.
    public var pin: PinState?
    public var attachments = GatheredAttachments()
    /// Problems that the refresh worked around.
    public var notes: [String] = []
    public var error: CollectionError?
    /// Whether the finished bundle still has to be renamed into place.
    var isHeldBack = false

    init(_ planned: PlannedCollection, status: Status) {
        id = planned.id
        self.status = status
        action = planned.action
        previous = planned.held?.timestamp
        serverTimestamp = planned.serverTimestamp
        entry = planned.held
    }
}
