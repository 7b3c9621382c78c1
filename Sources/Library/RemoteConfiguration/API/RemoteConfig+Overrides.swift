import RemoteSettings

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Values that the app's own code puts before all others during development. No server, package or file can set one.
/// They are kept in memory only. A warning in the log says so, and so do ``status`` and each value's source.
extension RemoteConfig {
    /// Replaces all overrides; `nil` removes them. They are in force when the call returns. Use it in debug builds
    /// only.
    public func setOverrides(_ values: [String: any RemoteConfigDefault]?) {
        let overrides = (values ?? [:]).mapValues { RemoteConfigValue($0, source: .override) }
        replaceLayers { state in
            state.overrides = overrides
            if let layers = state.layers {
                state.layers = ConfigLayers(
                    parameters: layers.parameters, defaults: layers.defaults, fixed: overrides, reads: ReadLog(hub),
                    packaged: layers.packaged)
            }
        }
        if let access = try? client.access { for warning in overrideWarnings { access.warn(warning) } }
    }

    /// Replaces the overrides by those that the app was started with. Use it in debug builds only.
    ///
    /// Each argument `-RemoteConfigOverride KEY=VALUE` sets one, and so does each environment variable
    /// `REMOTE_CONFIG_OVERRIDE_KEY=VALUE`. Arguments come first. Values are texts, as in Firebase's console. Without
    /// this call, the app reads neither.
    ///
    ///     #if DEBUG
    ///       config.setOverridesFromLaunch()
    ///     #endif
    public func setOverridesFromLaunch(
        arguments: [String] = CommandLine.arguments,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        let prefix = "REMOTE_CONFIG_OVERRIDE_"
        var values: [String: String] = [:]
        for (name, value) in environment where name.hasPrefix(prefix) && name != prefix {
            values[String(name.dropFirst(prefix.count))] = value
        }
        for (name, argument) in zip(arguments, arguments.dropFirst()) where name == "-RemoteConfigOverride" {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                try? client.access.warn("-RemoteConfigOverride \(argument): expected KEY=VALUE; it has no effect")
                continue
            }
            values[parts[0]] = parts[1]
        }
        setOverrides(values)
    }

    /// A sentence for each override. Does I/O if a directory may replace the collection.
    var overrideWarnings: [String] {
        let values = state.withLock { $0.overrides }.sorted { $0.key < $1.key }.map { key, value in
            "OVERRIDDEN for development: \(key) is \(value.stringValue.debugDescription)"
        }
        let path = try? client.access.overridingPath
        return (path.map { ["OVERRIDDEN for development: all parameters are read from \($0)"] } ?? []) + values
    }
}
