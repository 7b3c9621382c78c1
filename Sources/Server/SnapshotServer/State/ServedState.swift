import CMappedFaults
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin

/// One state of the served data. It is immutable, and a new state replaces it as a whole.
package struct ServedState: Sendable {
    package let origin: Origin
    /// The lock file's entry for each served collection.
    package let entries: [CollectionID: LockFile.Collection]
    /// The collections that are not served or do not match the lock file, with the reason.
    package let problems: [CollectionID: String]
    let responses: ResponseCache
    /// The value of `mapped_faults_count` before the bundles were read.
    private let faults: UInt

    init(
        origin: Origin, entries: [CollectionID: LockFile.Collection], problems: [CollectionID: String], faults: UInt,
        limits: ServerLimits
    ) {
        self.faults = faults
        self.origin = origin
        self.entries = entries
        self.problems = problems
        responses = ResponseCache(limits)
    }

    /// Whether a bundle has been truncated in place since the bundles were read.
    ///
    /// It is unknown which bundle is affected. Bytes that were read from it may be zeros.
    var isDamaged: Bool { mapped_faults_count() != faults }

    /// A short description of the served data.
    package var summary: String {
        let states = origin.collections.reduce(0) { $0 + $1.history.count }
        return Counted.text(origin.collections.count, "collection")
            + (states > 0 ? ", deltas from \(Counted.text(states, "older state"))" : "")
            + (problems.isEmpty ? "" : ", \(problems.count) not matching the lock file")
    }
}

/// A container for the current state. Every request reads the state from it.
final class StateBox: Sendable {
    private let state = Mutex<ServedState?>(nil)
    private let updates: UpdateHub

    /// Creates an empty container.
    ///
    /// - Parameter updates: announces each change of the state.
    init(announcingTo updates: UpdateHub) {
        self.updates = updates
    }

    /// The current state; `nil` until the first one has been read, and while a damaged one is being reloaded.
    var current: ServedState? {
        guard let state = state.withLock({ $0 }), !state.isDamaged else { return nil }
        return state
    }

    var isDamaged: Bool { state.withLock { $0 }?.isDamaged ?? false }

    /// Replaces the current state. Requests that start from now on use the new one.
    func replace(with new: ServedState) {
        state.withLock { state in
            let old = state
            state = new
            // Announce while the mutex is locked, so that announcements are in the order of the states.
            updates.announce(from: old?.origin, to: new.origin)
        }
    }
}
