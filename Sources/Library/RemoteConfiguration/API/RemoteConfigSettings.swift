import RemoteSettingsModel

/// The fetch interval and limits of a ``RemoteConfig``.
///
/// This is a value type: a change does not affect copies, and two values are equal if all three properties are. Unlike
/// other value types, it also allows setting properties of a constant, for code written for Firebase, where it is a
/// class. A ``RemoteConfig`` copies the settings it is given; to change them later, set
/// ``RemoteConfig/configSettings``.
public struct RemoteConfigSettings: Hashable, Sendable {
    /// Stores the properties in a class instance, so that the properties of a constant can be set.
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
        get { current.interval }
        set { change { $0.interval = newValue > 0 ? newValue : 0 } }
    }

    /// The number of seconds after which a fetch fails. A value that is not a positive number becomes 60.
    public var fetchTimeout: Double {
        get { current.timeout }
        set { change { $0.timeout = newValue > 0 ? newValue : 60 } }
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
        get { current.perHour }
        set { change { $0.perHour = max(1, newValue) } }
    }

    public static func == (left: RemoteConfigSettings, right: RemoteConfigSettings) -> Bool {
        left.current == right.current
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(current) }

    private var current: Current { values.current.withLock { $0 } }

    /// A copy of the settings that does not share storage with the original.
    var copy: RemoteConfigSettings {
        var copy = self
        copy.values = Values(current)
        return copy
    }

    /// Changes this value only: copies are not affected.
    private mutating func change(_ body: (inout Current) -> Void) {
        var changed = current
        body(&changed)
        values = Values(changed)
    }

    /// Changes the properties of a constant, which affects all its copies.
    fileprivate func changeConstant(_ body: (inout RemoteConfigSettings) -> Void) {
        var changed = self
        body(&changed)
        values.current.withLock { $0 = changed.current }
    }
}

/// A protocol for setting properties of a constant, as in `let settings = RemoteConfigSettings()`, for code written for
/// Firebase.
public protocol RemoteConfigSettingsOfConstants {
    /// The settings themselves.
    var settings: RemoteConfigSettings { get }
}

extension RemoteConfigSettings: RemoteConfigSettingsOfConstants {
    public var settings: RemoteConfigSettings { self }
}

// The compiler prefers the members of the structure, and uses these only for a constant.
extension RemoteConfigSettingsOfConstants {
    /// ``RemoteConfigSettings/minimumFetchInterval`` of a constant.
    public var minimumFetchInterval: Double {
        get { settings.minimumFetchInterval }
        nonmutating set { settings.changeConstant { $0.minimumFetchInterval = newValue } }
    }

    /// ``RemoteConfigSettings/fetchTimeout`` of a constant.
    public var fetchTimeout: Double {
        get { settings.fetchTimeout }
        nonmutating set { settings.changeConstant { $0.fetchTimeout = newValue } }
    }

    /// ``RemoteConfigSettings/fetchesPerHour`` of a constant.
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
