import RemoteSettingsHTTP
import RemoteSettingsModel
import Locks

/// A sync that has just failed. Reads that sync only if nothing is held, `getRecords(syncIfEmpty:)` and
/// ``RecordQuery/Sync/ifEmpty``, do not repeat it before ``nextTry``.
public struct RecentFailure: Hashable, Sendable {
    /// Why it failed.
    public var error: RemoteSettingsError
    /// When such a read asks the network again, by this device's clock: 5 s to a minute after the failure.
    public var nextTry: Timestamp
}

/// The syncs of a session that have just failed, so that a device without a network does not wait at each read for what
/// the read before has waited for.
///
/// They are kept in memory only, and a pause is never longer than a minute: a network that fails on purpose gains no
/// more than that. A sync that the app asks for is made all the same.
final class RecentFailures: Sendable {
    private static let firstPause = Duration.seconds(5)
    private static let longestPause = Duration.seconds(60)

    private struct Failure {
        let error: RemoteSettingsError
        /// How many there were, one after the other.
        let count: Int
        let time: Timestamp
        let uptime: Duration

        var pause: Duration { min(firstPause * (1 << min(count - 1, 4)), longestPause) }
    }

    private struct State {
        /// The server's list of collections could not be had.
        var server: Failure?
        var collections: [CollectionID: Failure] = [:]
    }

    private let environment: HTTPEnvironment
    private let state = Mutex(State())

    init(_ environment: HTTPEnvironment) { self.environment = environment }

    /// - Parameter id: the collection that failed; `nil` if the server's list of collections could not be had, which
    ///   concerns all of them.
    func note(_ error: RemoteSettingsError, of id: CollectionID?) {
        let (time, uptime) = (environment.now(), environment.uptime())
        state.withLock { state in
            let before = if let id { state.collections[id] } else { state.server }
            let count = (before?.count ?? 0).saturatingAdding(1)
            let failure = Failure(error: error, count: count, time: time, uptime: uptime)
            if let id { state.collections[id] = failure } else { state.server = failure }
        }
    }

    /// The server has told which collections it has.
    func noteAnswer() { state.withLock { $0.server = nil } }

    func noteSuccess(of id: CollectionID) { state.withLock { $0.collections[id] = nil } }

    /// There is a reason to believe that the next try has another end.
    func forget() { state.withLock { $0 = State() } }

    /// The failure that a read does not repeat now; `nil` if it may ask the network.
    func standing(_ id: CollectionID) -> RecentFailure? {
        let failures = state.withLock { [$0.server, $0.collections[id]].compactMap(\.self) }
        guard !failures.isEmpty else { return nil }
        let (now, uptime) = (environment.now(), environment.uptime())
        let left = failures.map { failure in
            // The machine may have slept, which only the time of day shows, or its time of day may have been set.
            let passed = max(uptime - failure.uptime, now.elapsed(since: failure.time))
            return (failure.pause - passed, failure.error)
        }
        guard let (wait, error) = left.max(by: { $0.0 < $1.0 }), wait > .zero else { return nil }
        return RecentFailure(error: error, nextTry: now.advanced(by: wait))
    }
}
