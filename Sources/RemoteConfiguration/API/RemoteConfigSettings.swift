import Locks

/// How often, and for how long, a ``RemoteConfig`` fetches.
///
/// It is a reference, as in Firebase: a change takes effect at the next fetch. Reading a setting has no effect.
public final class RemoteConfigSettings: Sendable {
    private let values = Mutex((interval: 43_200.0, timeout: 60.0, perHour: 60))

    /// Firebase's settings: an interval of 12 hours and a time-out of one minute. At most 60 requests are made in an
    /// hour.
    public init() {}

    /// Settings with other values than Firebase's, in seconds.
    public convenience init(minimumFetchInterval: Double, fetchTimeout: Double = 60, fetchesPerHour: Int = 60) {
        self.init()
        self.minimumFetchInterval = minimumFetchInterval
        self.fetchTimeout = fetchTimeout
        self.fetchesPerHour = fetchesPerHour
    }

    /// Seconds after a successful fetch in which further calls are answered without a request. 0 asks the server each
    /// time; what is negative or no number counts as 0.
    public var minimumFetchInterval: Double {
        get { values.withLock { $0.interval } }
        set { values.withLock { $0.interval = newValue > 0 ? newValue : 0 } }
    }

    /// Seconds after which a fetch fails. What is not a positive number counts as 60.
    public var fetchTimeout: Double {
        get { values.withLock { $0.timeout } }
        set { values.withLock { $0.timeout = newValue > 0 ? newValue : 60 } }
    }

    /// How many requests fetches make in any hour, whatever the interval says; further ones fail as
    /// ``RemoteConfigError/throttled(until:reason:)``, with the time from which on one is made. It protects the server
    /// from an app that fetches in a loop. What is not positive counts as 1; `Int.max` is no limit.
    ///
    /// The count is kept across starts, by the minute. Requests that did not reach a server do not count. Those after
    /// ``RemoteConfig/markStale()`` are counted apart, up to the same number; syncs that the update channel starts have
    /// limits of their own.
    public var fetchesPerHour: Int {
        get { values.withLock { $0.perHour } }
        set { values.withLock { $0.perHour = max(1, newValue) } }
    }
}

/// When what was fetched takes effect.
public enum RemoteConfigActivation: Hashable, Sendable {
    /// When the app calls ``RemoteConfig/activate()``, in this start of the app or a later one.
    case onRequest
    /// At the app's next start, so that no value changes while the app runs; or when the app calls
    /// ``RemoteConfig/activate()``, if it does. This is Flurry's simple mode.
    case onNextStart
}
