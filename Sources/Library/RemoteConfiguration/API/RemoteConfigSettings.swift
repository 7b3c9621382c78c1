import RemoteSettingsModel

/// How often a ``RemoteConfig`` fetches, and how long a fetch may take.
///
/// It is a value: a copy does not change with the original, and two are equal if all three properties are. Code that
/// was written for Firebase, where it is a class, may also set properties of a constant. A ``RemoteConfig`` copies what
/// it is given; change ``RemoteConfig/configSettings`` to change how it fetches, from the next fetch on.
public struct RemoteConfigSettings: Hashable, Sendable {
    /// The properties, on the heap, so that those of a constant can be set.
    fileprivate final class Values: Sendable {
        let current: Mutex<Current>

        init(_ current: Current) { self.current = Mutex(current) }
    }

    fileprivate struct Current: Hashable, Sendable {
        var interval = 43_200.0
        var timeout = 60.0
        var perHour = 60
    }

    private var values = Values(Current())

    /// Makes Firebase's settings: an interval of 12 hours and a time-out of one minute. At most 60 requests are made in
    /// an hour.
    public init() {}

    /// Makes settings with other values than Firebase's. The interval and the time-out are in seconds.
    public init(minimumFetchInterval: Double, fetchTimeout: Double = 60, fetchesPerHour: Int = 60) {
        self.minimumFetchInterval = minimumFetchInterval
        self.fetchTimeout = fetchTimeout
        self.fetchesPerHour = fetchesPerHour
    }

    /// The seconds after a successful fetch during which no request is made. With 0, each fetch asks the server.
    ///
    /// A negative value, or one that is not a number, becomes 0.
    public var minimumFetchInterval: Double {
        get { current.interval }
        set { change { $0.interval = newValue > 0 ? newValue : 0 } }
    }

    /// The seconds after which a fetch fails. A value that is not a positive number becomes 60.
    public var fetchTimeout: Double {
        get { current.timeout }
        set { change { $0.timeout = newValue > 0 ? newValue : 60 } }
    }

    /// The largest number of requests that fetches make in any hour, whatever the interval is. `Int.max` means no
    /// limit. 0 or less becomes 1.
    ///
    /// It protects the server from an app that fetches in a loop. Further fetches fail with
    /// ``RemoteConfigError/paused(until:reason:)``, which says when the next request is allowed.
    ///
    /// The count is kept after a restart, by the minute. Requests that did not reach a server do not count. Requests
    /// after ``RemoteConfig/markStale()`` are counted separately, up to the same number. Syncs that the update channel
    /// starts have limits of their own.
    public var fetchesPerHour: Int {
        get { current.perHour }
        set { change { $0.perHour = max(1, newValue) } }
    }

    public static func == (left: RemoteConfigSettings, right: RemoteConfigSettings) -> Bool {
        left.current == right.current
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(current) }

    private var current: Current { values.current.withLock { $0 } }

    /// The same settings, with properties of their own.
    var copy: RemoteConfigSettings {
        var copy = self
        copy.values = Values(current)
        return copy
    }

    /// Changes this value only: copies keep what they have.
    private mutating func change(_ body: (inout Current) -> Void) {
        var changed = current
        body(&changed)
        values = Values(changed)
    }

    /// Changes the properties of a constant.
    fileprivate func changeConstant(_ body: (inout RemoteConfigSettings) -> Void) {
        var changed = self
        body(&changed)
        values.current.withLock { $0 = changed.current }
    }
}

/// The properties that Firebase's code sets of a constant: `let settings = RemoteConfigSettings()`.
public protocol RemoteConfigSettingsOfConstants {
    /// The settings themselves.
    var settings: RemoteConfigSettings { get }
}

extension RemoteConfigSettings: RemoteConfigSettingsOfConstants {
    public var settings: RemoteConfigSettings { self }
}

// The compiler prefers the members of the structure, and uses these where a value cannot be changed.
extension RemoteConfigSettingsOfConstants {
    /// ``RemoteConfigSettings/minimumFetchInterval``, of a constant.
    public var minimumFetchInterval: Double {
        get { settings.minimumFetchInterval }
        nonmutating set { settings.changeConstant { $0.minimumFetchInterval = newValue } }
    }

    /// ``RemoteConfigSettings/fetchTimeout``, of a constant.
    public var fetchTimeout: Double {
        get { settings.fetchTimeout }
        nonmutating set { settings.changeConstant { $0.fetchTimeout = newValue } }
    }

    /// ``RemoteConfigSettings/fetchesPerHour``, of a constant.
    public var fetchesPerHour: Int {
        get { settings.fetchesPerHour }
        nonmutating set { settings.changeConstant { $0.fetchesPerHour = newValue } }
    }
}

/// When fetched values take effect.
///
/// Open: a later version may add cases, so a `switch` needs a `default`.
public enum RemoteConfigActivation: Hashable, Sendable {
    /// When the app calls ``RemoteConfig/activate()``, in this run of the app or a later one.
    case onRequest
    /// At the app's next start, so that no value changes while the app runs. This corresponds to Flurry's simple mode.
    ///
    /// An app may still call ``RemoteConfig/activate()`` earlier.
    case onNextStart
}
