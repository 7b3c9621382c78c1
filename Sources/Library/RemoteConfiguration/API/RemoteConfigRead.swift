import RemoteSettingsModel

/// A report that the app has read a value. It tells an analysis who saw a flag, so that the flag's effect can be
/// measured.
public struct RemoteConfigLookup: Hashable, Sendable {
    /// The parameter's key.
    public let key: String
    /// The value that the app got.
    public let value: RemoteConfigValue
    /// The id of the record that decided the value; `nil` if no record did. A record can also decide that the app's
    /// default applies.
    public let record: String?
    /// The timestamp of the collection's state with that record; `nil` if no record decided.
    public let timestamp: RemoteSettingsTimestamp?

    /// Where the value came from.
    public var source: RemoteConfigSource { value.source }
}
