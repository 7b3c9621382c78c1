import RemoteConfiguration
import RemoteSettings
import RemoteSettingsHTTP

/// A real service for an app's tests, with a server in memory. It uses no network, no disk and no other process.
///
///     let test = try TestService()
///     let markets = try test.collection("markets")
///     try markets.put("de", ["name": "Germany"])
///     let app = App(service: test.service)
///     try await test.service.sync()
///
/// Only the server is simulated. Collections are signed when they are written, and verified as in an app. For code
/// written for Mozilla's binding, pass `RemoteSettingsBlocking.RemoteSettingsService(test.service)`.
public final class TestService: Sendable {
    /// The server. A test can inject faults into it.
    public let origin: OriginTransport
    /// The service that the app uses.
    public let service: RemoteSettingsService

    /// Creates a service and its server.
    ///
    /// - Parameters:
    ///   - time: a clock controlled by the test; `nil` for the system's clock. With the system's clock, waits between
    ///     two attempts of a request take at most two milliseconds; all others, such as timeouts, take their full time.
    ///   - updates: an update channel on which the test makes announcements; `nil` for none.
    ///   - configure: a closure that changes the configuration, such as its `appContext` or `packaged`.
    /// - Throws: an error if the server's keys cannot be created.
    public convenience init(
        time: SteppedTime? = nil, updates: ScriptedUpdates? = nil,
        configure: (inout RemoteSettingsConfig) -> Void = { _ in }
    ) throws {
        self.init(try OriginTransport(), time: time, updates: updates, configure: configure)
    }

    /// Creates a service with an existing server, to simulate the app's next start or a second device. See
    /// ``init(time:updates:configure:)``.
    public init(
        _ origin: OriginTransport, time: SteppedTime? = nil, updates: ScriptedUpdates? = nil,
        configure: (inout RemoteSettingsConfig) -> Void = { _ in }
    ) {
        var config = origin.config
        if let time {
            config.environment = time.environment
            origin.wait = time.environment.sleep
        }
        if let updates { config.updates = .init(source: updates) }
        configure(&config)
        self.origin = origin
        service = RemoteSettingsService(config: config)
    }

    /// Returns a collection of the server that a test can write to. It is created if it does not exist.
    ///
    /// - Parameter name: the name of a collection in the bucket `main`, or `bucket/name`.
    public func collection(_ name: String) throws -> ServerCollection {
        try origin.collection(name.contains("/") ? name : "main/\(name)")
    }

    /// Creates a remote config that reads a collection of this service and contacts the server on each fetch.
    public func remoteConfig(collection: String = "config") -> RemoteConfig {
        RemoteConfig(collection: collection, service: service, settings: RemoteConfigSettings(minimumFetchInterval: 0))
    }
}
