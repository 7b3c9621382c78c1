import TargetFilter

/// What an app tells the filters of records (`filter_expression`) about itself. A member that is `nil` is undefined to them.
public struct RemoteSettingsContext: Hashable, Sendable {
    /// The release channel, such as `release` or `nightly`; `env.channel`.
    public var channel: String?
    /// `env.version`.
    public var appVersion: String?
    /// `env.appinfo.ID`.
    public var appId: String?
    /// `env.locale`.
    public var locale: String?
    /// `env.appinfo.OS`, `env.appinfo.os.name` and `env.os.name`.
    public var os: String?
    /// `env.appinfo.os.version` and `env.os.version`.
    public var osVersion: String?
    /// `env.formFactor`.
    public var formFactor: String?
    /// `env.country`.
    public var country: String?
    /// Further members of `env`, by name. They cannot replace the ones above.
    public var customTargettingAttributes: [String: String]?

    /// A context; each parameter is the property of the same name. A filter sees `null` for what is `nil`.
    public init(
        channel: String? = nil, appVersion: String? = nil, appId: String? = nil, locale: String? = nil,
        os: String? = nil, osVersion: String? = nil, formFactor: String? = nil, country: String? = nil,
        customTargettingAttributes: [String: String]? = nil
    ) {
        self.channel = channel
        self.appVersion = appVersion
        self.appId = appId
        self.locale = locale
        self.os = os
        self.osVersion = osVersion
        self.formFactor = formFactor
        self.country = country
        self.customTargettingAttributes = customTargettingAttributes
    }

    var filterContext: FilterContext {
        .app(
            channel: channel, version: appVersion, locale: locale, formFactor: formFactor, country: country,
            appID: appId, os: os, osVersion: osVersion,
            custom: (customTargettingAttributes ?? [:]).mapValues(FilterValue.string))
    }
}
