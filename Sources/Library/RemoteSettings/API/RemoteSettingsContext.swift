import RemoteSettingsModel
import TargetFilter

/// The app's values that the records' filters (`filter_expression`) can use. A property that is `nil` is undefined in
/// filters.
public struct RemoteSettingsContext: Hashable, Sendable {
    /// The app's preferences, for filters with `preferenceValue`, `preferenceIsUserSet` and `preferenceExists`.
    public struct Preferences: Hashable, Sendable {
        /// The values of all existing preferences, by name.
        public var values: [String: RemoteSettingsJSON]
        /// The names of the preferences that the user has set.
        public var userSet: Set<String>

        /// Creates preferences; by default, there are none.
        public init(values: [String: RemoteSettingsJSON] = [:], userSet: Set<String> = []) {
            self.values = values
            self.userSet = userSet
        }
    }

    /// The release channel, such as `release` or `nightly`; `env.channel`.
    public var channel: String?
    /// The app's version; `env.version`.
    public var appVersion: String?
    /// The app's identifier; `env.appinfo.ID`.
    public var appID: String?
    /// The user's locale; `env.locale`.
    public var locale: String?
    /// The operating system; `env.appinfo.OS`, `env.appinfo.os.name` and `env.os.name`. It also determines
    /// `env.os.isWindows`, `isMac` and `isLinux`.
    public var os: String?
    /// The version of the operating system; `env.appinfo.os.version` and `env.os.version`.
    public var osVersion: String?
    /// The type of device; `env.formFactor`.
    public var formFactor: String?
    /// The user's country; `env.country`.
    public var country: String?
    /// The partner or channel that distributes this build; `env.distribution`.
    public var distribution: String?
    /// Additional members of `env` with string values, by name.
    ///
    /// A member with the name of a property above replaces that property, as in Mozilla's client. For example, filters
    /// see `["channel": "beta"]` as `env.channel`, and `["os": "x"]` removes `env.os.name`.
    public var customTargetingAttributes: [String: String]?
    /// Additional members of `env` of any type, such as the rest of Gecko's environment: `isDefaultBrowser`,
    /// `memoryMB`, `syncSetup`.
    ///
    /// Like ``customTargetingAttributes``, they replace the properties above. If both contain the same name, the value
    /// in ``customTargetingAttributes`` is used.
    public var attributes: [String: RemoteSettingsJSON]
    /// The app's preferences.
    public var preferences: Preferences

    /// Creates a context. Each parameter sets the property of the same name. Properties that are `nil` are undefined in
    /// filters.
    public init(
        channel: String? = nil, appVersion: String? = nil, appID: String? = nil, locale: String? = nil,
        os: String? = nil, osVersion: String? = nil, formFactor: String? = nil, country: String? = nil,
        distribution: String? = nil, customTargetingAttributes: [String: String]? = nil,
        attributes: [String: RemoteSettingsJSON] = [:], preferences: Preferences = Preferences()
    ) {
        self.channel = channel
        self.appVersion = appVersion
        self.appID = appID
        self.locale = locale
        self.os = os
        self.osVersion = osVersion
        self.formFactor = formFactor
        self.country = country
        self.distribution = distribution
        self.customTargetingAttributes = customTargetingAttributes
        self.attributes = attributes
        self.preferences = preferences
    }

    package var filterContext: FilterContext {
        let texts = (customTargetingAttributes ?? [:]).mapValues(FilterValue.string)
        return .app(
            channel: channel, version: appVersion, locale: locale, formFactor: formFactor, country: country,
            distribution: distribution, appID: appID, os: os, osVersion: osVersion,
            custom: Dictionary(attributes.mapValues { FilterValue($0) }).merging(Dictionary(texts)) { $1 },
            preferences: FilterPreferences(
                values: Dictionary(preferences.values.mapValues { FilterValue($0) }),
                userSet: Set(preferences.userSet.map(\.exact))))
    }
}
