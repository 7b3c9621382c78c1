import RemoteSettingsModel

/// The fetch interval and limits of a ``RemoteConfig``.
///
/// This is a value type. A ``RemoteConfig`` copies the settings it is given; to change them later, set
/// ``RemoteConfig/configSettings``.
public struct RemoteConfigSettings: Hashable, Sendable {
    private var interval = 43_200.0
    private var timeout = 60.0
    private var perHour = 60

    /// Creates settings with Firebase's defaults: a minimum fetch interval of 12 hours and a timeout of one minute.
    /// Requests are limited to 60 per hour.
    public init() {}

    /// Creates settings. The interval and the timeout are in seconds.
    public init(minimumFetchInterval: Double, fetchTimeout: Double = 60, fetchesPerHour: Int = 60) {
        self.minimumFetchInterval = minimumFetchInterval
        self.fetchTimeout = fetchTimeout
        self.fetchesPerHour = fetchesPerHour
    }

    /// The number of seconds after a successful fetch during which no request is made. With 0, each fetch contacts the
    /// server.
    ///
    /// A negative value or NaN becomes 0.
    public var minimumFetchInterval: Double {
        get { interval }
        set { interval = newValue > 0 ? newValue : 0 }
    }

    /// The number of seconds after which a fetch fails. A value that is not a positive number becomes 60.
    public var fetchTimeout: Double {
        get { timeout }
        set { timeout = newValue > 0 ? newValue : 60 }
    }

    /// The maximum number of requests by fetches in any hour, regardless of the interval. `Int.max` means no limit. 0
    /// or less becomes 1.
    ///
    /// It protects the server from an app that fetches in a loop. Further fetches fail with
    /// ``RemoteConfigError/paused(until:reason:)``, which contains the time when the next request is allowed.
    ///
    /// The count has a resolution of one minute and persists across restarts. Requests that did not reach a server do
    /// not count. Requests after ``RemoteConfig/markStale()`` are counted separately, up to the same number. Syncs
    /// started by the update channel have separate limits.
    public var fetchesPerHour: Int {
        get { perHour }
        set { perHour = max(1, newValue) }
    }
}

/// When fetched values take effect.
@nonexhaustive public enum RemoteConfigActivation: Hashable, Sendable {
    /// When the app calls ``RemoteConfig/activate()``, in this run of the app or a later one.
    case onRequest
    /// At the app's next start, so that no value changes while the app runs. This corresponds to Flurry's simple mode.
    ///
    /// An app may still call ``RemoteConfig/activate()`` earlier.
    case onNextStart
}
