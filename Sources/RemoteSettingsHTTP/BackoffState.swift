import RemoteSettingsModel

/// Which servers asked to be left alone, and until when: their `Backoff` and `Retry-After` headers.
///
/// It is a value to be kept across runs: read ``ServerClient/backoff`` at the end of one, and pass it to the next.
public struct BackoffState: Sendable, Hashable {
    public struct Hold: Sendable, Hashable {
        /// Scheme, host and port, as in ``HTTPURL/origin``.
        public let origin: String
        public let until: Timestamp

        public init(origin: String, until: Timestamp) {
            self.origin = origin
            self.until = until
        }
    }

    private var times: [String: Timestamp] = [:]

    public init(_ holds: [Hold] = []) {
        for hold in holds { extend(hold.origin, until: hold.until) }
    }

    /// Sorted by origin.
    public var holds: [Hold] {
        times.map { Hold(origin: $0.key, until: $0.value) }.sorted { $0.origin < $1.origin }
    }

    /// The holds that still stand at `now`.
    public func holds(at now: Timestamp) -> [Hold] {
        holds.filter { $0.until > now }
    }

    /// When requests to this origin are welcome again; `nil` where nothing was asked.
    public func until(_ origin: String) -> Timestamp? { times[origin] }

    /// A hold is only ever made longer.
    mutating func extend(_ origin: String, until: Timestamp) {
        times[origin] = max(times[origin] ?? until, until)
    }
}
