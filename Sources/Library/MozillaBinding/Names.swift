import RemoteSettings

// Aliases for types that have different names in Mozilla's binding.

/// A file attached to a record.
public typealias Attachment = RemoteSettingsAttachment
/// A record's fields as a JSON string.
public typealias RsJsonObject = String
/// The configuration's name before version 152.
public typealias RemoteSettingsConfig2 = RemoteSettingsConfig

extension RemoteSettingsServer {
    /// Mozilla's production server, under the binding's name.
    public static var prod: RemoteSettingsServer { .production }
}

extension RemoteSettingsContext {
    /// Creates a context with the binding's names. Each parameter sets the property of the same name.
    @_disfavoredOverload
    public init(
        channel: String? = nil, appVersion: String? = nil, appId: String? = nil, locale: String? = nil,
        os: String? = nil, osVersion: String? = nil, formFactor: String? = nil, country: String? = nil,
        distribution: String? = nil, customTargettingAttributes: [String: String]? = nil
    ) {
        self.init(
            channel: channel, appVersion: appVersion, appID: appId, locale: locale, os: os, osVersion: osVersion,
            formFactor: formFactor, country: country, distribution: distribution,
            customTargetingAttributes: customTargettingAttributes)
    }

    /// The app's id, under the binding's name.
    public var appId: String? {
        get { appID }
        set { appID = newValue }
    }

    /// Attributes of the app's own, under the binding's name.
    public var customTargettingAttributes: [String: String]? {
        get { customTargetingAttributes }
        set { customTargetingAttributes = newValue }
    }
}
