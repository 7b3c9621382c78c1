import RemoteConfiguration
import RemoteSettings
import RemoteSettingsHTTP

/// A real service for an app's tests, with a server in memory. It uses no network, no disk and no other process.
///
///     let test = try TestService()
///     let regions = try test.collection("regions")
///     try regions.put("de", ["name": "Germany"])
///     let app = App(service: test.service)
///     try await test.service.sync()
///
/// Only the server is a stand-in. Collections are signed when they are written, and verified as in an app. Code that
/// was written for Mozilla's binding takes `RemoteSettingsBlocking.RemoteSettingsService(test.service)`.
public final class TestService: Sendable {
    /// The server, which can be told to fail.
    public let origin: OriginTransport
    /// The service that the app uses.
    public let service: RemoteSettingsService

    /// - Parameters:
    ///   - time: a clock that a test moves. `nil` means the system's clock; pauses between two tries of a request then
    ///     take two milliseconds, but those from 30 seconds on, such as time-outs, take their full time.
    ///   - updates: an update channel on which a test makes announcements; `nil` for none.
    ///   - configure: changes the configuration, such as its `appContext` or `packaged`.
    /// - Throws: if the server's keys cannot be made.
    public convenience init(
        time: SteppedTime? = nil, updates: ScriptedUpdates? = nil,
        configure: (inout RemoteSettingsConfig) -> Void = { _ in }
    ) throws {
        self.init(try OriginTransport(), time: time, updates: updates, configure: configure)
    }

    /// Like ``init(time:updates:configure:)``, with an existing server. It stands for the app's next start, or another
    /// device.
    public init(
        _ origin: OriginTransport, time: SteppedTime? = nil, updates: ScriptedUpdates? = nil,
        configure: (inout RemoteSettingsConfig) -> Void = { _ in }
    ) {
        var config = origin.config
        if let time {
            config.environment = time.environment
            origin.wait = time.environment.sleep
        } else {
            // Pauses are short, and time-outs are real.
            config.environment.sleep = {
                try await Task.sleep(for: $0 >= .seconds(30) ? $0 : min($0, .milliseconds(2)))
            }
        }
        if let updates { config.updates = UpdatePolicy(source: updates) }
        configure(&config)
        self.origin = origin
        service = RemoteSettingsService(storageDir: ":memory:", config: config)
    }

    /// A collection of the server to write to. It is made if there is none of this name.
    ///
    /// - Parameter name: the name of a collection in the bucket `main`, or `bucket/name`.
    public func collection(_ name: String) throws -> ServerCollection {
        try origin.collection(name.contains("/") ? name : "main/\(name)")
    }

    /// A remote config that reads a collection of this service and asks the server at each fetch.
    public func remoteConfig(collection: String = "config") -> RemoteConfig {
        RemoteConfig(
            collection: collection, service: service, settings: RemoteConfigSettings(minimumFetchInterval: 0))
    }
}
