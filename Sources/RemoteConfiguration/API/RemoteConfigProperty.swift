#if canImport(SwiftUI)
    import SwiftUI
#endif

/// A property whose value is a parameter, as Firebase's of the same name.
///
///     @RemoteConfigProperty(key: "cardColor", fallback: "#f05138") var cardColor
///
/// A SwiftUI view that reads it in its body is drawn again after an activation that changed values; so is whatever
/// reads it in `withObservationTracking`, on any system. It is read from ``RemoteConfig/remoteConfig()`` unless another
/// one is given.
@propertyWrapper
public struct RemoteConfigProperty<Value: Decodable> {
    /// The parameter's key.
    public let key: String
    /// The value if nobody has one, or if it cannot be read as this type.
    public let fallback: Value
    private let config: RemoteConfig?

    /// - Parameters:
    ///   - key: the parameter's key.
    ///   - fallback: the value if nobody has one, or if it cannot be read as this type.
    ///   - config: where the value is read; `nil` for ``RemoteConfig/remoteConfig()``, which is asked for at each read.
    public init(key: String, fallback: Value, config: RemoteConfig? = nil) {
        self.key = key
        self.fallback = fallback
        self.config = config
    }

    /// The present value, as ``RemoteConfigValue/decoded(as:decoder:)`` reads it.
    public var wrappedValue: Value {
        let value = (config ?? .remoteConfig()).configValue(forKey: key)
        guard value.source != .static else { return fallback }
        return (try? ParameterDecoder(value: value, options: nil).decode(Value.self)) ?? fallback
    }
}

extension RemoteConfigProperty: Sendable where Value: Sendable {}

#if canImport(SwiftUI)
    extension RemoteConfigProperty: DynamicProperty {}
#endif
