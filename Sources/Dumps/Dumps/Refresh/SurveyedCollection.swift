import RemoteSettingsModel
import SnapshotBundle

/// The local state of a collection, the server's, and what a refresh would do.
package struct SurveyedCollection: Sendable {
    package let id: CollectionID
    /// The lock entry; `nil` if the collection was never fetched.
    package let entry: LockFile.Collection?
    /// Whether the bundle exists, with the size and timestamp in the lock.
    package let hasBundle: Bool
    /// `nil` offline, and if the monitor does not list the collection.
    package let serverTimestamp: Timestamp?
    /// Offline, only what a refresh would do because `dumps.yaml` differs from the lock; `nil` if it does not differ.
    package let action: PlannedCollection.Action?
    /// The state of its pin; `nil` if it has none.
    package let pin: PinState?
    /// The most bytes that its bundle may have; `nil` if the configuration sets no limit.
    package let budget: UInt64?
    /// The excess of the current bundle over its budget, which may have been lowered since.
    package let excess: BudgetExcess?
}

extension LockFile.Collection {
    /// When the data was verified; `nil` if it is not signed.
    package var verifiedAt: Timestamp? { trust.verdict?.verifiedAt }

    /// The time since the data was verified or, if it is not signed, since it changed on the server.
    package func age(at now: Timestamp) -> Duration { now.elapsed(since: verifiedAt ?? timestamp) }
}

extension SurveyedCollection {
    /// Whether a bundle is new enough.
    package enum Freshness: String, Hashable, Sendable {
        case fresh
        case old
        case tooOld = "too-old"
        case missing
    }

    /// Judges the bundle by its age.
    ///
    /// A bundle that has the server's state is fresh, however old that state is. A pinned bundle is fresh until its
    /// pin's last day has passed.
    ///
    /// - Parameter maxAge: `nil` for any age.
    package func freshness(at now: Timestamp, maxAge: Duration?) -> Freshness {
        guard let entry, hasBundle else { return .missing }
        let isTooOld = maxAge.map { entry.age(at: now) > $0 } ?? false
        if let pin { return !pin.isOverdue ? .fresh : isTooOld ? .tooOld : .old }
        if serverTimestamp == entry.timestamp { return .fresh }
        return isTooOld ? .tooOld : .fresh
    }
}
