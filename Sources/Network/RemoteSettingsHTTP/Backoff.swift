import RemoteSettingsModel

/// The backoff periods that servers requested with the headers `Backoff` and `Retry-After`. Each one forbids requests
/// to one origin until a given time.
///
/// A backoff also applies to later runs: read ``ServerClient/backoff`` after a run, and pass it to the next one.
package struct BackoffState: Sendable, Hashable {
    package struct Hold: Sendable, Hashable {
        /// The scheme, host and port, as in ``HTTPURL/origin``.
        package let origin: String
        package let until: Timestamp

        package init(origin: String, until: Timestamp) {
            self.origin = origin
            self.until = until
        }
    }

    /// The largest number of origins to store. Redirects and certificate chain URLs from a server can lead to any
    /// number of origins.
    private static let mostOrigins = 256

    private var times: [String: Timestamp] = [:]

    package init(_ holds: [Hold] = []) {
        for hold in holds { extend(hold.origin, until: hold.until) }
    }

    /// All backoff periods, sorted by origin.
    package var holds: [Hold] {
        times.map { Hold(origin: $0.key, until: $0.value) }.sorted { $0.origin < $1.origin }
    }

    /// Returns the backoff periods that are in effect at `now`.
    package func holds(at now: Timestamp) -> [Hold] {
        holds.filter { $0.until > now }
    }

    /// Returns the time at which requests to this origin are allowed again; `nil` if the origin has no backoff.
    func until(_ origin: String) -> Timestamp? { times[origin] }

    /// Whether no origin has a backoff.
    var isEmpty: Bool { times.isEmpty }

    /// Adds a backoff period. If the origin already has a longer one, the longer one remains.
    ///
    /// If there are more than 256 origins, the backoff that expires first is removed.
    mutating func extend(_ origin: String, until: Timestamp) {
        times[origin] = max(times[origin] ?? until, until)
        guard times.count > Self.mostOrigins, let first = times.min(by: { $0.value < $1.value }) else { return }
        times[first.key] = nil
    }
}
