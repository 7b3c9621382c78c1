import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin
import Synchronization

/// One state of what is served: immutable, replaced as a whole.
public struct ServedState: Sendable {
    public let origin: Origin
    /// What the lock says of each collection that is served.
    public let entries: [CollectionID: LockFile.Collection]
    /// The collections that are not served, or not in the state that the lock names, and why.
    public let problems: [CollectionID: String]

    public init(
        origin: Origin, entries: [CollectionID: LockFile.Collection], problems: [CollectionID: String] = [:]
    ) {
        self.origin = origin
        self.entries = entries
        self.problems = problems
    }
}

/// Where the present state is found, by every request anew.
public final class StateBox: Sendable {
    private let state: Mutex<ServedState>

    public init(_ state: ServedState) {
        self.state = Mutex(state)
    }

    public var current: ServedState { state.withLock { $0 } }

    /// Puts another state in the place of the present one, for requests that begin from now on.
    public func replace(with new: ServedState) {
        state.withLock { $0 = new }
    }
}
