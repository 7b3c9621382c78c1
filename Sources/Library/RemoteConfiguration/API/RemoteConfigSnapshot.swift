import RemoteSettings
import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The values of a remote config at one moment. They do not change when the remote config does.
public struct RemoteConfigSnapshot: Sendable {
    let layers: ConfigLayers

    init(layers: ConfigLayers) { self.layers = layers }

    /// Creates a snapshot of given values, for an app's tests and previews. Does no I/O.
    ///
    /// - Parameters:
    ///   - values: the values that replace those of the server, by key.
    ///   - defaults: the app's defaults.
    public init(values: [String: any RemoteConfigDefault], defaults: [String: any RemoteConfigDefault] = [:]) {
        self.init(
            values: Dictionary(values.mapValues { RemoteConfigValue($0) }),
            defaults: Dictionary(defaults.mapValues { RemoteConfigValue($0, source: .default) }))
    }

    package init(values: [ExactString: RemoteConfigValue], defaults: [ExactString: RemoteConfigValue]) {
        layers = ConfigLayers(parameters: nil, defaults: defaults, fixed: values, reads: nil)
    }
}

/// A source of parameter values, such as a ``RemoteConfig`` or a snapshot of one.
///
/// The values of a ``RemoteConfig`` change with each activation. Those of a ``RemoteConfigSnapshot`` never change.
/// Reading never uses the network. The first read of a ``RemoteConfig`` in a process does I/O, and later reads do none.
public protocol RemoteConfigReading: Sendable {
    /// Returns a snapshot of the current values.
    func snapshot() -> RemoteConfigSnapshot
}

extension RemoteConfigSnapshot: RemoteConfigReading {
    /// Returns this snapshot.
    public func snapshot() -> RemoteConfigSnapshot { self }

    /// Returns the value of a key, from the active remote or packaged state, or else from the app's defaults. If
    /// neither has one, the value is empty.
    public subscript(key: String) -> RemoteConfigValue { layers.value(key) }

    /// The timestamp of the collection's state that remote or packaged values come from; `nil` if there are none.
    public var timestamp: RemoteSettingsTimestamp? { layers.parameters?.timestamp }
}

extension RemoteConfigReading {
    /// Returns the value of a key, from the active remote or packaged state, or else from the app's defaults. If
    /// neither has one, the value is empty.
    public subscript(key: String) -> RemoteConfigValue { snapshot().layers.value(key) }

    /// Returns the value of a key, from the active remote or packaged state, or else from the app's defaults. If
    /// neither has one, the value is empty.
    ///
    /// - Parameter key: the key. As in Firebase, it may be `nil`; the value is then empty.
    public func configValue(forKey key: String?) -> RemoteConfigValue {
        key.map { snapshot().layers.value($0) } ?? .none
    }

    /// Returns the value of a key in a single source. If that source does not have the key, the value is empty and its
    /// source is ``RemoteConfigSource/static``.
    ///
    /// Values from ``RemoteConfigSource/remote`` are available while they are active. ``RemoteConfigSource/packaged``
    /// always gives the values that were shipped with the app; the first call for them does I/O. Values from
    /// ``RemoteConfigSource/override`` take precedence over both in all other reads.
    public func configValue(forKey key: String?, source: RemoteConfigSource) -> RemoteConfigValue {
        guard let key else { return .none }
        let layers = snapshot().layers
        switch source {
        case .override, .remote, .packaged: return layers.value(key, from: source) ?? .none
        case .default: return layers.defaults[key] ?? .none
        case .static: return .none
        }
    }

    /// Returns the app's default for a key; `nil` if there is none.
    public func defaultValue(forKey key: String?) -> RemoteConfigValue? {
        key.flatMap { snapshot().layers.defaults[$0] }
    }

    /// Returns the keys that have a value in one source, sorted.
    public func allKeys(from source: RemoteConfigSource) -> [String] {
        let layers = snapshot().layers
        switch source {
        case .override, .remote, .packaged: return layers.keys(from: source).sorted().map(\.string)
        case .default: return layers.defaults.keys.sorted().map(\.string)
        case .static: return []
        }
    }

    /// Returns the keys that begin with a prefix and have a remote or packaged value; all such keys if the prefix is
    /// `nil` or empty.
    ///
    /// As in Firebase, the app's defaults are not included.
    public func keys(withPrefix prefix: String?) -> Set<String> {
        let keys = Set(snapshot().layers.keys().map(\.string))
        guard let prefix, !prefix.isEmpty else { return keys }
        return keys.filter { $0.utf8.starts(with: prefix.utf8) }
    }

    /// Returns the value of a key decoded as a type of the app; `nil` if ``RemoteConfigValue/decoded(as:decoder:)``
    /// throws.
    public subscript<Value: Decodable>(decodedValue key: String, decoder: JSONDecoder = JSONDecoder()) -> Value? {
        try? configValue(forKey: key).decoded(decoder: decoder)
    }

    /// Decodes all parameters as one type of the app, whose coding keys are the parameters' keys.
    ///
    /// Remote or packaged values take precedence over defaults. Each one is decoded as by
    /// ``RemoteConfigValue/decoded(as:decoder:)``.
    ///
    /// - Parameters:
    ///   - type: a type whose coding keys are the parameters' keys.
    ///   - decoder: the decoder. Its key strategy also applies to the parameters' keys.
    /// - Throws: `DecodingError`.
    public func decoded<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try ParametersDecoder(layers: snapshot().layers, options: decoder).decode(type)
    }

    private func found(_ key: String) -> RemoteConfigValue? {
        let value = configValue(forKey: key)
        return value.source == .static ? nil : value
    }

    /// Flurry's name of ``string(forKey:default:)``.
    @available(*, unavailable, renamed: "string(forKey:default:)")
    public func getString(forKey key: String, withDefault fallback: String) -> String { fallback }

    /// Flurry's name of ``boolUnlessZero(forKey:default:)``.
    @available(*, unavailable, renamed: "boolUnlessZero(forKey:default:)")
    public func getBool(forKey key: String, withDefault fallback: Bool) -> Bool { fallback }

    /// Returns the value of a key as a string, or `default` if the key has no value. It corresponds to Flurry's
    /// `getString(forKey:withDefault:)`.
    public func string(forKey key: String, default fallback: String) -> String { found(key)?.stringValue ?? fallback }

    /// Returns the value of a key as a number, or `default` if the key has no value. It corresponds to Flurry's
    /// `getNumber(forKey:withDefault:)`.
    public func number(forKey key: String, default fallback: RemoteConfigNumber) -> RemoteConfigNumber {
        found(key)?.numberValue ?? fallback
    }

    /// Returns the value of a key as a boolean by Firebase's rule (``RemoteConfigValue/boolValue``), or `default` if
    /// the key has no value.
    public func bool(forKey key: String, default fallback: Bool) -> Bool { found(key)?.boolValue ?? fallback }

    /// Returns the value of a key as a boolean by Flurry's rule, or `default` if the key has no value.
    ///
    /// Everything is true except the string `0` and the boolean `false`.
    public func boolUnlessZero(forKey key: String, default fallback: Bool) -> Bool {
        guard let value = found(key) else { return fallback }
        return if case .bool(let bool) = value.content { bool } else { value.stringValue != "0" }
    }
}
