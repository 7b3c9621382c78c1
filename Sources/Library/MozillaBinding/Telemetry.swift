import RemoteSettings
import RemoteSettingsModel

/// Receives the outcome of every sync, as in Mozilla's Swift binding. It can be
/// `RemoteSettingsConfig.telemetry`, too.
public protocol RemoteSettingsTelemetry: RemoteSettings.RemoteSettingsTelemetry {
    /// Called once for each outcome, from any thread. It must not block.
    func reportUptake(extras: UptakeEventExtras)
}

extension RemoteSettingsTelemetry {
    /// Passes the outcome on to ``reportUptake(extras:)``, in the words of Mozilla's mobile client.
    public func reportUptake(_ event: UptakeEvent) { reportUptake(extras: UptakeEventExtras(event)) }
}

/// An outcome in the words of Mozilla's mobile client, for its Glean metric `uptake_remotesettings`. All values are
/// text.
public struct UptakeEventExtras: Hashable, Sendable {
    /// `success`, `up_to_date`, `network_error`, `backoff_error`, `signature_error`, `server_error` or `unknown_error`.
    public var value: String?
    /// `settings-sync`, `settings-changes-monitoring`, or `bucket/collection`.
    public var source: String?
    /// In milliseconds.
    public var age: String?
    /// What started the sync.
    public var trigger: String?
    /// In milliseconds since 1970.
    public var timestamp: String?
    /// In milliseconds.
    public var duration: String?
    /// The status of a failure as a name, such as `SignRetryError`. It distinguishes more kinds than ``value``.
    public var errorName: String?

    /// Extras; each parameter is the property of the same name.
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
    /// The same outcome in the words of Mozilla's mobile client.
    public init(_ event: UptakeEvent) {
        self.init(
            value: event.status.mobileName, source: event.source, age: event.age.map { "\($0.wholeMilliseconds)" },
            trigger: event.trigger.rawValue, timestamp: event.timestamp.map { "\($0.milliseconds)" },
            duration: "\(event.duration.wholeMilliseconds)", errorName: event.status.errorName)
    }
}

extension UptakeEvent.Status {
    /// The one of seven names that Mozilla's mobile client has for it.
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

    /// `sign_retry_error` as `SignRetryError`; `nil` if the status is not a failure.
    fileprivate var errorName: String? {
        switch self {
        case .success, .upToDate: nil
        default: rawValue.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        }
    }
}
