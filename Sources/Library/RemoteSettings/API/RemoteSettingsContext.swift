import RemoteSettingsModel
import TargetFilter

/// What an app tells the records' filters (`filter_expression`) about itself. To a filter, a member that is `nil` is
/// undefined.
public struct RemoteSettingsContext: Hashable, Sendable {
    /// The app's preferences, for filters with `preferenceValue`, `preferenceIsUserSet` and `preferenceExists`.
    public struct Preferences: Hashable, Sendable {
        /// Every preference that exists, with its value.
        public var values: [String: RemoteSettingsJSON]
        /// The names of those that the user has set.
        public var userSet: Set<String>

        /// Preferences; none by default.
        public init(values: [String: RemoteSettingsJSON] = [:], userSet: Set<String> = []) {
            self.values = values
            self.userSet = userSet
        }
    }

    /// The release channel, such as `release` or `nightly`; `env.channel`.
    public var channel: String?
    /// `env.version`.
    public var appVersion: String?
    /// `env.appinfo.ID`.
    public var appId: String?
    /// `env.locale`.
    public var locale: String?
    /// `env.appinfo.OS`, `env.appinfo.os.name` and `env.os.name`; `env.os.isWindows`, `isMac` and `isLinux` follow from
    /// it.
    public var os: String?
    /// `env.appinfo.os.version` and `env.os.version`.
    public var osVersion: String?
    /// `env.formFactor`.
    public var formFactor: String?
    /// `env.country`.
    public var country: String?
    /// The partner or channel that distributes this build; `env.distribution`.
    public var distribution: String?
    /// Further members of `env` whose values are text, by name.
    ///
    /// A name that a member above has replaces that member, as in Mozilla's client. For example, filters see
    /// `["channel": "beta"]` as `env.channel`, and `["os": "x"]` leaves no `env.os.name`.
    public var customTargettingAttributes: [String: String]?
    /// Further members of `env` of any type, such as the rest of Gecko's environment: `isDefaultBrowser`, `memoryMB`,
    /// `syncSetup`.
    ///
    /// They replace members above, as ``customTargettingAttributes`` do. If both have a name,
    /// ``customTargettingAttributes`` wins.
    public var attributes: [String: RemoteSettingsJSON]
    /// The app's preferences.
    public var preferences: Preferences

    /// Makes a context. Each parameter is the property of the same name. Filters see whatever is `nil` or left out as
    /// undefined.
    public init(
        channel: String? = nil, appVersion: String? = nil, appId: String? = nil, locale: String? = nil,
        os: String? = nil, osVersion: String? = nil, formFactor: String? = nil, country: String? = nil,
        distribution: String? = nil, customTargettingAttributes: [String: String]? = nil,
        attributes: [String: RemoteSettingsJSON] = [:], preferences: Preferences = Preferences()
    ) {
        self.channel = channel
        self.appVersion = appVersion
        self.appId = appId
        self.locale = locale
        self.os = os
        self.osVersion = osVersion
        self.formFactor = formFactor
        self.country = country
        self.distribution = distribution
        self.customTargettingAttributes = customTargettingAttributes
        self.attributes = attributes
        self.preferences = preferences
    }

    package var filterContext: FilterContext {
        let texts = (customTargettingAttributes ?? [:]).mapValues(FilterValue.string)
        return .app(
            channel: channel, version: appVersion, locale: locale, formFactor: formFactor, country: country,
            distribution: distribution, appID: appId, os: os, osVersion: osVersion,
            custom: Dictionary(attributes.mapValues { FilterValue($0) }).merging(Dictionary(texts)) { $1 },
            preferences: FilterPreferences(
                values: Dictionary(preferences.values.mapValues { FilterValue($0) }),
                userSet: Set(preferences.userSet.map(\.exact))))
    }
}
