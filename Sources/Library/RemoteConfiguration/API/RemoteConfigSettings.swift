import RemoteSettingsModel

/// How often a ``RemoteConfig`` fetches, and how long a fetch may take.
///
/// It is a class, as in Firebase. A change takes effect at the next fetch.
public final class RemoteConfigSettings: Sendable {
    private let values = Mutex((interval: 43_200.0, timeout: 60.0, perHour: 60))

    /// Makes Firebase's settings: an interval of 12 hours and a time-out of one minute. At most 60 requests are made in
    /// an hour.
    public init() {}

    /// Makes settings with other values than Firebase's. The interval and the time-out are in seconds.
    public convenience init(minimumFetchInterval: Double, fetchTimeout: Double = 60, fetchesPerHour: Int = 60) {
        self.init()
        self.minimumFetchInterval = minimumFetchInterval
        self.fetchTimeout = fetchTimeout
        self.fetchesPerHour = fetchesPerHour
    }

    /// The seconds after a successful fetch during which no request is made. With 0, each fetch asks the server.
    ///
    /// A negative value, or one that is not a number, becomes 0.
    public var minimumFetchInterval: Double {
        get { values.withLock { $0.interval } }
        set { values.withLock { $0.interval = newValue > 0 ? newValue : 0 } }
    }

    /// The seconds after which a fetch fails. A value that is not a positive number becomes 60.
    public var fetchTimeout: Double {
        get { values.withLock { $0.timeout } }
        set { values.withLock { $0.timeout = newValue > 0 ? newValue : 60 } }
    }

    /// The largest number of requests that fetches make in any hour, whatever the interval is. `Int.max` means no
    /// limit. 0 or less becomes 1.
    ///
    /// It protects the server from an app that fetches in a loop. Further fetches fail with
    /// ``RemoteConfigError/throttled(until:reason:)``, which says when the next request is allowed.
    ///
    /// The count is kept after a restart, by the minute. Requests that did not reach a server do not count. Requests
    /// after ``RemoteConfig/markStale()`` are counted separately, up to the same number. Syncs that the update channel
    /// starts have limits of their own.
    public var fetchesPerHour: Int {
        get { values.withLock { $0.perHour } }
        set { values.withLock { $0.perHour = max(1, newValue) } }
    }
}

/// When fetched values take effect.
public enum RemoteConfigActivation: Hashable, Sendable {
    /// When the app calls ``RemoteConfig/activate()``, in this run of the app or a later one.
    case onRequest
    /// At the app's next start, so that no value changes while the app runs. This corresponds to Flurry's simple mode.
    ///
    /// An app may still call ``RemoteConfig/activate()`` earlier.
    case onNextStart
}
