import RemoteSettingsModel
import SnapshotBundle

/// A collection's local state and its state on the server, and the action that a refresh would take.
package struct SurveyedCollection: Sendable {
    package let id: CollectionID
    /// The entry in the lock file; `nil` if the collection was never fetched.
    package let entry: LockFile.Collection?
    /// Whether the bundle exists and has the size and timestamp recorded in the lock file.
    package let hasBundle: Bool
    /// The server's timestamp; `nil` offline, or if the monitor does not list the collection.
    package let serverTimestamp: Timestamp?
    /// The action that a refresh would take. Offline, it is the action required by a difference between `dumps.yaml`
    /// and the lock file; `nil` if there is no such difference.
    package let action: PlannedCollection.Action?
    /// The state of its pin; `nil` if it has none.
    package let pin: PinState?
    /// The maximum size of its bundle in bytes; `nil` if the configuration sets no limit.
    package let budget: UInt64?
    /// The excess of the current bundle over its budget. The budget may have been lowered since the bundle was written.
    package let excess: BudgetExcess?
}

extension LockFile.Collection {
    /// The time when the data was verified; `nil` if it is unsigned.
    package var verifiedAt: Timestamp? { trust.verdict?.verifiedAt }

    /// Returns the time since the data was verified or, if it is unsigned, since it changed on the server.
    package func age(at now: Timestamp) -> Duration { now.elapsed(since: verifiedAt ?? timestamp) }
}

extension SurveyedCollection {
    /// The freshness of a bundle.
    package enum Freshness: String, Hashable, Sendable {
        case fresh
        case old
        case tooOld = "too-old"
        case missing
    }

    /// Returns the freshness of the bundle.
    ///
    /// A bundle with the server's current state is fresh, regardless of age. A pinned bundle is fresh until its pin's
    /// last day has passed.
    ///
    /// - Parameter maxAge: the maximum age; `nil` for any age.
    package func freshness(at now: Timestamp, maxAge: Duration?) -> Freshness {
        guard let entry, hasBundle else { return .missing }
        let isTooOld = maxAge.map { entry.age(at: now) > $0 } ?? false
        if let pin { return !pin.isOverdue ? .fresh : isTooOld ? .tooOld : .old }
        if serverTimestamp == entry.timestamp { return .fresh }
        return isTooOld ? .tooOld : .fresh
    }
}
