import Observation
import RemoteConfiguration
import RemoteSettingsModel

/// A remote config whose values a test sets, for code that accepts a `RemoteConfigReading`.
///
///     let config = TestRemoteConfig(["banner": "Welcome"], defaults: ["price": 3])
///     let page = Page(config: config)
///     config.set("Goodbye", forKey: "banner")
///
/// A value takes effect at once, and observers are notified as for an activation.
public final class TestRemoteConfig: RemoteConfigReading, Sendable {
    private struct State {
        var values: [ExactString: RemoteConfigValue]
        let defaults: [ExactString: RemoteConfigValue]
    }

    private let state: Mutex<State>
    private let observed = ObservedState()

    /// Creates a remote config.
    ///
    /// - Parameters:
    ///   - values: the values that replace those of the server, by key.
    ///   - defaults: the app's defaults.
    public init(_ values: [String: any RemoteConfigDefault] = [:], defaults: [String: any RemoteConfigDefault] = [:]) {
        let values = Dictionary(values.mapValues { RemoteConfigValue($0) })
        let defaults = Dictionary(defaults.mapValues { RemoteConfigValue($0, source: .default) })
        state = Mutex(State(values: values, defaults: defaults))
    }

    /// Sets a value as if it came from the server; `nil` removes it, so that the default is used.
    public func set(_ value: (any RemoteConfigDefault)?, forKey key: String) {
        let value = value.map { RemoteConfigValue($0) }
        observed.change { state.withLock { $0.values[key] = value } }
    }

    /// Returns a snapshot of the current values.
    public func snapshot() -> RemoteConfigSnapshot {
        observed.willRead()
        let state = state.withLock { $0 }
        return RemoteConfigSnapshot(values: state.values, defaults: state.defaults)
    }
}

@available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
extension TestRemoteConfig: Observable {}
