import RemoteSettingsHTTP
import RemoteSettingsModel

/// The recently failed syncs of a session.
///
/// Without this record, every read on an offline device would wait for the network. It is kept only in memory and
/// delays a read by at most a minute, so an attacker who makes syncs fail on purpose gains no more than that. A sync
/// that the app requests explicitly is never delayed.
final class RecentFailures: Sendable {
    private static let firstPause = Duration.seconds(5)
    private static let longestPause = Duration.seconds(60)

    private struct FailedSync {
        let error: RemoteSettingsError
        /// The number of consecutive failures.
        let count: Int
        let time: Timestamp
        let uptime: Duration

        var pause: Duration { min(firstPause * (1 << min(count - 1, 4)), longestPause) }
    }

    private struct State {
        /// The failure to fetch the server's list of collections.
        var server: FailedSync?
        var collections: [CollectionID: FailedSync] = [:]
    }

    private let environment: HTTPEnvironment
    private let state = Mutex(State())

    init(_ environment: HTTPEnvironment) { self.environment = environment }

    /// Records a failure.
    ///
    /// - Parameter id: the collection that failed; `nil` if the server's list of collections could not be fetched,
    ///   which affects all collections.
    func record(_ error: RemoteSettingsError, of id: CollectionID?) {
        let (time, uptime) = (environment.now(), environment.uptime())
        state.withLock { state in
            let before = if let id { state.collections[id] } else { state.server }
            let count = (before?.count ?? 0).saturatingAdding(1)
            let failure = FailedSync(error: error, count: count, time: time, uptime: uptime)
            if let id { state.collections[id] = failure } else { state.server = failure }
        }
    }

    /// Records that the server has sent its list of collections.
    func recordAnswer() { state.withLock { $0.server = nil } }

    func recordSuccess(of id: CollectionID) { state.withLock { $0.collections[id] = nil } }

    /// Removes all failures, because the next attempt is likely to succeed.
    func forget() { state.withLock { $0 = State() } }

    /// Returns the failure because of which a read must not use the network yet; `nil` if it may.
    func standing(_ id: CollectionID) -> RecentFailure? {
        let failures = state.withLock { [$0.server, $0.collections[id]].compactMap(\.self) }
        guard !failures.isEmpty else { return nil }
        let (now, uptime) = (environment.now(), environment.uptime())
        let left = failures.map { failure in
            // Use the larger of two durations: uptime does not advance while the system sleeps, and the clock may have
            // been set.
            let passed = max(uptime - failure.uptime, now.elapsed(since: failure.time))
            return (failure.pause - passed, failure.error)
        }
        guard let (wait, error) = left.max(by: { $0.0 < $1.0 }), wait > .zero else { return nil }
        return RecentFailure(error: error, nextTry: now.advanced(by: wait))
    }
}
