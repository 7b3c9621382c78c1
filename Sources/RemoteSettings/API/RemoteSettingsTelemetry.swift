/// Receives the outcome of every sync, for an app's own telemetry.
public protocol RemoteSettingsTelemetry: Sendable {
    /// Called once for each outcome, from any task. It must not block.
    func reportUptake(_ event: UptakeEvent)
}

/// The outcome of one attempt to get something from the server.
public struct UptakeEvent: Hashable, Sendable {
    /// The names are those of Firefox's uptake telemetry.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        case upToDate = "up_to_date"
        case success
        case backoff
        case parseError = "parse_error"
        case contentError = "content_error"
        case signError = "sign_error"
        case signRetryError = "sign_retry_error"
        case syncError = "sync_error"
        case applyError = "apply_error"
        case serverError = "server_error"
        case certificateError = "certificate_error"
        case downloadError = "download_error"
        case timeoutError = "timeout_error"
        case networkError = "network_error"
        case shutdownError = "shutdown_error"
        case unknownError = "unknown_error"
    }

    /// What started the attempt.
    public enum Trigger: String, Hashable, Sendable {
        /// A call of ``RemoteSettingsService/sync()`` or ``RemoteSettingsClient/sync()``.
        case manual
        /// A push message: a sync with an expected timestamp.
        case broadcast
        /// A read with `syncIfEmpty` where nothing was held.
        case empty
    }

    /// `settings-sync`, `settings-changes-monitoring`, or `bucket/collection`.
    public var source: String
    /// The outcome.
    public var status: Status
    /// What started the sync.
    public var trigger: Trigger
    /// The collection's timestamp afterwards; `nil` where the attempt failed.
    public var timestamp: Timestamp?
    /// How long the attempt took.
    public var duration: Duration
    /// The error's text; `nil` where there was none.
    public var errorDescription: String?
}
