import RemoteSettingsModel

/// That the app has read a value: what has to be known of those who saw a flag before its effect can be evaluated.
public struct RemoteConfigRead: Hashable, Sendable {
    /// The parameter's key.
    public let key: String
    /// What the app was given.
    public let value: RemoteConfigValue
    /// The id of the record that decided, also if it says that the app's default applies; `nil` if there is none.
    public let record: String?
    /// The collection's timestamp that the record is of; `nil` if no record has decided.
    public let timestamp: Timestamp?

    /// Where the value came from.
    public var source: RemoteConfigSource { value.source }
}
