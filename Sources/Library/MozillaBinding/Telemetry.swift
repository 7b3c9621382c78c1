import RemoteSettings
import RemoteSettingsModel

/// A receiver of the outcome of every sync, as in Mozilla's Swift binding. It can also be used as
/// `RemoteSettingsConfig.telemetry`.
public protocol RemoteSettingsTelemetry: RemoteSettings.RemoteSettingsTelemetry {
    /// Receives one outcome. It is called on any thread and must not block.
    func reportUptake(extras: UptakeEventExtras)
}

extension RemoteSettingsTelemetry {
    /// Forwards the outcome to ``reportUptake(extras:)``, in the terms of Mozilla's mobile client.
    public func reportUptake(_ event: UptakeEvent) { reportUptake(extras: UptakeEventExtras(event)) }
}

/// An outcome in the terms of Mozilla's mobile client, for its Glean metric `uptake_remotesettings`. All values are
/// strings.
public struct UptakeEventExtras: Hashable, Sendable {
    /// The result: `success`, `up_to_date`, `network_error`, `backoff_error`, `signature_error`, `server_error` or
    /// `unknown_error`.
    public var value: String?
    /// The source: `settings-sync`, `settings-changes-monitoring`, or `bucket/collection`.
    public var source: String?
    /// The time between the last change on the server and the server's response, in milliseconds.
    public var age: String?
    /// The cause of the sync.
    public var trigger: String?
    /// The collection's timestamp afterwards, in milliseconds since 1970.
    public var timestamp: String?
    /// The duration of the attempt in milliseconds.
    public var duration: String?
    /// The name of the failure, such as `SignRetryError`. It distinguishes more cases than ``value``.
    public var errorName: String?

    /// Creates extras. Each parameter sets the property of the same name.
    public init(
        value: String? = nil, source: String? = nil, age: String? = nil, trigger: String? = nil,
        timestamp: String? = nil, duration: String? = nil, errorName: String? = nil
    ) {
        self.value = value
        self.source = source
        self.age = age
        self.trigger = trigger
        self.timestamp = timestamp
        self.duration = duration
        self.errorName = errorName
    }
}

extension UptakeEventExtras {
    /// Converts an outcome to the terms of Mozilla's mobile client.
    public init(_ event: UptakeEvent) {
        self.init(
            value: event.status.mobileName, source: event.source, age: event.age.map { "\($0.wholeMilliseconds)" },
            trigger: event.trigger.rawValue, timestamp: event.timestamp.map { "\($0.milliseconds)" },
            duration: "\(event.duration.wholeMilliseconds)", errorName: event.status.errorName)
    }
}

extension UptakeEvent.Status {
    /// The name of this status in Mozilla's mobile client, which distinguishes only seven.
    fileprivate var mobileName: String {
        switch self {
        case .success, .upToDate: rawValue
        case .backoff: "backoff_error"
        case .signError, .signRetryError, .certificateError: "signature_error"
        case .serverError: "server_error"
        case .networkError, .timeoutError, .downloadError: "network_error"
        default: "unknown_error"
        }
    }

    /// The status in camel case, such as `SignRetryError` for `sign_retry_error`; `nil` if the status is not a failure.
    fileprivate var errorName: String? {
        switch self {
        case .success, .upToDate: nil
        default: rawValue.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        }
    }
}
