import RemoteSettingsHTTP
import RemoteSettingsModel

/// A sync that has just failed. Reads that sync only if nothing is held do not repeat it before ``nextTry``.
///
/// These reads are ``RemoteSettingsClient/fetchRecords(_:)`` with ``RecordQuery/Sync/ifEmpty``.
public struct RecentFailure: Codable, Hashable, Sendable {
    /// Why it failed.
    public var error: RemoteSettingsError
    /// When such a read asks the network again, by this device's clock: 5 s to a minute after the failure.
    public var nextTry: RemoteSettingsTimestamp
}

/// The syncs of a session that have just failed.
///
/// Without them, a device that is offline would wait for the network again at each read. They are kept in memory only,
/// and a pause never exceeds a minute, so a network that fails on purpose gains no more than that. A sync that the app
/// asks for is always made.
final class RecentFailures: Sendable {
    private static let firstPause = Duration.seconds(5)
    private static let longestPause = Duration.seconds(60)

    private struct Failure {
        let error: RemoteSettingsError
        /// How many failures there were in a row.
        let count: Int
        let time: Timestamp
        let uptime: Duration

        var pause: Duration { min(firstPause * (1 << min(count - 1, 4)), longestPause) }
    }

    private struct State {
        /// The server's list of collections could not be fetched.
        var server: Failure?
        var collections: [CollectionID: Failure] = [:]
    }

    private let environment: HTTPEnvironment
    private let state = Mutex(State())

    init(_ environment: HTTPEnvironment) { self.environment = environment }

    /// - Parameter id: the collection that failed; `nil` if the server's list of collections could not be fetched,
    ///   which affects all collections.
    func record(_ error: RemoteSettingsError, of id: CollectionID?) {
        let (time, uptime) = (environment.now(), environment.uptime())
        state.withLock { state in
            let before = if let id { state.collections[id] } else { state.server }
            let count = (before?.count ?? 0).saturatingAdding(1)
            let failure = Failure(error: error, count: count, time: time, uptime: uptime)
            if let id { state.collections[id] = failure } else { state.server = failure }
        }
    }

    /// Notes that the server has sent its list of collections.
    func recordAnswer() { state.withLock { $0.server = nil } }

    func recordSuccess(of id: CollectionID) { state.withLock { $0.collections[id] = nil } }

    /// Forgets all failures, because there is reason to believe that the next try succeeds.
    func forget() { state.withLock { $0 = State() } }

    /// The failure that a read must not repeat now; `nil` if it may use the network.
    func standing(_ id: CollectionID) -> RecentFailure? {
        let failures = state.withLock { [$0.server, $0.collections[id]].compactMap(\.self) }
        guard !failures.isEmpty else { return nil }
        let (now, uptime) = (environment.now(), environment.uptime())
        let left = failures.map { failure in
            // The machine may have slept, which only the time of day shows; or its time of day may have been set.
            let passed = max(uptime - failure.uptime, now.elapsed(since: failure.time))
            return (failure.pause - passed, failure.error)
        }
        guard let (wait, error) = left.max(by: { $0.0 < $1.0 }), wait > .zero else { return nil }
        return RecentFailure(error: error, nextTry: now.advanced(by: wait))
    }
}
