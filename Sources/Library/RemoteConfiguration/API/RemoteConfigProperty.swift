#if canImport(SwiftUI)
import SwiftUI
#endif

/// A property wrapper for the value of a parameter, like Firebase's property wrapper of the same name.
///
///     @RemoteConfigProperty(key: "cardColor", fallback: "#f05138") var cardColor
///
/// A SwiftUI view that reads it in its body is updated after an activation that changed values. Code that reads it in
/// `withObservationTracking` is notified too, on every system. The value comes from ``RemoteConfig/remoteConfig()``
/// unless another remote config is given.
@propertyWrapper
public struct RemoteConfigProperty<Value: Decodable> {
    /// The parameter's key.
    public let key: String
    /// The value to use if the key has none, or if its value cannot be decoded as this type.
    public let fallback: Value
    private let config: (any RemoteConfigReading)?

    /// Creates a property wrapper.
    ///
    /// - Parameters:
    ///   - key: the parameter's key.
    ///   - fallback: the value to use if the key has none, or if its value cannot be decoded as this type.
    ///   - config: the source of values, such as a `TestRemoteConfig`; `nil` for ``RemoteConfig/remoteConfig()``, which
    ///     is looked up on each read.
    public init(key: String, fallback: Value, config: (any RemoteConfigReading)? = nil) {
        self.key = key
        self.fallback = fallback
        self.config = config
    }

    /// The current value, decoded as by ``RemoteConfigValue/decoded(as:decoder:)``. Without a remote config, as in a
    /// preview, it is the fallback.
    public var wrappedValue: Value {
        let value = (config ?? RemoteConfig.configured)?.configValue(forKey: key)
        guard let value, value.source != .static else { return fallback }
        return (try? ParameterDecoder(value: value, options: nil).decode(Value.self)) ?? fallback
    }
}

extension RemoteConfigProperty: Sendable where Value: Sendable {}

#if canImport(SwiftUI)
extension RemoteConfigProperty: DynamicProperty {}
#endif
