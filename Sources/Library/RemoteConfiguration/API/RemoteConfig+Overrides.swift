import RemoteSettings
import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Overrides are values that the app's own code sets during development. They take precedence over all other values. No
/// server, package or file can set one, and they are kept only in memory. They are reported by a warning in the log,
/// ``status`` and the source of each value.
extension RemoteConfig {
    /// Replaces all overrides; `nil` removes them. They take effect when the call returns. Use it only in debug builds.
    public func setOverrides(_ values: [String: any RemoteConfigDefault]?) {
        let overrides = Dictionary((values ?? [:]).mapValues { RemoteConfigValue($0, source: .override) })
        replaceLayers { state in
            state.overrides = overrides
            if let layers = state.layers { state.show(layers.parameters, ReadLog(hub), layers.packaged) }
        }
        if let collection = try? client.collection() {
            for warning in overrideWarnings { collection.session.logger.warning(warning) }
        }
    }

    /// Replaces the overrides with those in the app's launch arguments and environment. Use it only in debug builds.
    ///
    /// Each argument `-RemoteConfigOverride KEY=VALUE` sets one, and so does each environment variable
    /// `REMOTE_CONFIG_OVERRIDE_KEY=VALUE`. Arguments take precedence over variables. Values are strings, as in
    /// Firebase's console. The app ignores both unless it makes this call.
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
                try? client.collection().session.logger.warning(
                    "-RemoteConfigOverride \(argument): ignored, because it is not KEY=VALUE")
                continue
            }
            values[parts[0]] = parts[1]
        }
        setOverrides(values)
    }

    /// A sentence for each override. Does I/O if an override directory is configured.
    var overrideWarnings: [String] {
        let values = state.withLock { $0.overrides }.sorted { $0.key < $1.key }.map { key, value in
            "OVERRIDDEN for development: \(key) is \(value.stringValue.debugDescription)"
        }
        let path = try? client.collection().overridingPath
        return (path.map { ["OVERRIDDEN for development: all parameters are read from \($0)"] } ?? []) + values
    }
}
