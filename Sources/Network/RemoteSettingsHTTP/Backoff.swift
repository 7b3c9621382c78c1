import RemoteSettingsModel

/// The holds that servers have asked for with the headers `Backoff` and `Retry-After`. A hold forbids requests until a
/// given time.
///
/// Holds apply to later runs too: read ``ServerClient/backoff`` at the end of a run, and pass it to the next one.
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

    /// The largest number of origins that are remembered. A server's redirects and chains can lead to any number of
    /// origins.
    private static let mostOrigins = 256

    private var times: [String: Timestamp] = [:]

    package init(_ holds: [Hold] = []) {
        for hold in holds { extend(hold.origin, until: hold.until) }
    }

    /// All holds, sorted by origin.
    package var holds: [Hold] {
        times.map { Hold(origin: $0.key, until: $0.value) }.sorted { $0.origin < $1.origin }
    }

    /// The holds that are in force at `now`.
    package func holds(at now: Timestamp) -> [Hold] {
        holds.filter { $0.until > now }
    }

    /// When requests to this origin are allowed again; `nil` if there is no hold.
    func until(_ origin: String) -> Timestamp? { times[origin] }

    /// Whether there is no hold on any origin.
    var isEmpty: Bool { times.isEmpty }

    /// Adds a hold. A longer hold of the same origin stays.
    ///
    /// If there are more than 256 origins, the one whose hold ends first is forgotten.
    mutating func extend(_ origin: String, until: Timestamp) {
        times[origin] = max(times[origin] ?? until, until)
        guard times.count > Self.mostOrigins, let first = times.min(by: { $0.value < $1.value }) else { return }
        times[first.key] = nil
    }
}
