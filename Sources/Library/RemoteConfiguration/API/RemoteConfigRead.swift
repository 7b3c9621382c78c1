import RemoteSettingsModel

/// A note that the app has read a value. It tells an analysis who saw a flag, so that the flag's effect can be
/// measured.
public struct RemoteConfigLookup: Hashable, Sendable {
    /// The parameter's key.
    public let key: String
    /// What the app was given.
    public let value: RemoteConfigValue
    /// The id of the record that decided the value; `nil` if no record did. A record may also decide for the app's
    /// default.
    public let record: String?
    /// The collection's timestamp when that record decided; `nil` if no record did.
    public let timestamp: Timestamp?

    /// Where the value came from.
    public var source: RemoteConfigSource { value.source }
}
