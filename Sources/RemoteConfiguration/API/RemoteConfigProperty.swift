#if canImport(SwiftUI)
    import SwiftUI
#endif

/// A property whose value is a parameter, as Firebase's of the same name.
///
///     @RemoteConfigProperty(key: "cardColor", fallback: "#f05138") var cardColor
///
/// A SwiftUI view that reads it in its body is drawn again after an activation that changed values; so is whatever reads it
/// in `withObservationTracking`, on any system. It is read from ``RemoteConfig/remoteConfig()`` unless another one is given.
@propertyWrapper
public struct RemoteConfigProperty<Value: Decodable & Sendable>: Sendable {
    /// The parameter's key.
    public let key: String
    /// The value where nobody has one, or where it is of another type.
    public let fallback: Value
    private let config: RemoteConfig?

    /// - Parameters:
    ///   - key: the parameter's key.
    ///   - fallback: the value where nobody has one, or where it is of another type.
    ///   - config: where the value is read; `nil` for ``RemoteConfig/remoteConfig()``, which is asked for at each read.
    public init(key: String, fallback: Value, config: RemoteConfig? = nil) {
        self.key = key
        self.fallback = fallback
        self.config = config
    }

    /// The present value.
    public var wrappedValue: Value {
        let value = (config ?? .remoteConfig()).configValue(forKey: key)
        guard value.source != .static else { return fallback }
        // Types that are read often need no decoder.
        switch Value.self {
        case is Bool.Type: if case .bool(let bool) = value.content, let bool = bool as? Value { return bool }
        default: break
        }
        return (try? value.decoded(as: Value.self)) ?? fallback
    }
}

#if canImport(SwiftUI)
    extension RemoteConfigProperty: DynamicProperty {}
#endif
