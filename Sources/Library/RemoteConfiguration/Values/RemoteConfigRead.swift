import RemoteSettingsModel

/// A report that the app has read a value, for analytics that measure the effect of a flag on the users who saw it.
public struct RemoteConfigLookup: Hashable, Sendable {
    /// The parameter's key.
    public let key: String
    /// The value that was returned to the app.
    public let value: RemoteConfigValue
    /// The id of the record that determined the value; `nil` if no record did. A record can also determine that the
    /// app's default is used.
    public let record: String?
    /// The timestamp of the collection's state with that record; `nil` if no record determined the value.
    public let timestamp: RemoteSettingsTimestamp?

    /// The source of the value.
    public var source: RemoteConfigSource { value.source }
}
