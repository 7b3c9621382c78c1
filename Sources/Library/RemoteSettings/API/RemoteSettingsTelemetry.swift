import RemoteSettingsModel

/// A receiver of the outcome of every sync, for an app's own telemetry.
public protocol RemoteSettingsTelemetry: Sendable {
    /// Receives one outcome. It is called on any task and must not block.
    func reportUptake(_ event: UptakeEvent)
}

/// The outcome of one attempt to fetch something from the server.
public struct UptakeEvent: Hashable, Sendable {
    /// The result of an attempt, named as in Firefox's uptake telemetry.
    @nonexhaustive public enum Status: String, Hashable, Sendable, CaseIterable {
        /// The server has nothing newer than the current state.
        case upToDate = "up_to_date"
        /// The server's state was stored.
        case success
        /// No request was sent, because a backoff requested by the server has not expired.
        case backoff
        /// The response cannot be parsed, or exceeds a limit on sizes or counts.
        case parseError = "parse_error"
        /// The response does not have the requested content, or an attachment does not match its hash.
        case contentError = "content_error"
        /// The signature does not match the records.
        case signError = "sign_error"
        /// The signature does not match the records, even after a full download.
        case signRetryError = "sign_retry_error"
        /// The stored data of the collection is damaged. It is ignored, and the sync started without it.
        case corruptionError = "corruption_error"
        /// The server's state is older than the current one, in the future, or not the announced one. For
        /// `settings-sync`: at least one collection failed.
        case syncError = "sync_error"
        /// The verified state could not be stored.
        case applyError = "apply_error"
        /// The server answered with an error status or an unusable redirect.
        case serverError = "server_error"
        /// The certificate chain of the signature cannot be used, or the TLS handshake failed.
        case certificateError = "certificate_error"
        /// An attachment could not be downloaded.
        case downloadError = "download_error"
        /// The server did not answer in time.
        case timeoutError = "timeout_error"
        /// The server could not be reached, or the connection failed.
        case networkError = "network_error"
        /// The sync was cancelled, or the client or its service was shut down.
        case shutdownError = "shutdown_error"
        /// An error that no other case describes.
        case unknownError = "unknown_error"
        /// Unused attachments could not be removed. The sync itself succeeded.
        case cleanupError = "cleanup_error"
        /// The collection has failed at least ten times since its last success. This is reported in addition to the
        /// failure itself.
        case syncBrokenError = "sync_broken_error"
        /// The server's state passed verification but was rejected: by the app's check, because the app called
        /// `rejectState()`, or after failed starts.
        case rejectedError = "rejected_error"
    }

    /// The cause of an attempt.
    @nonexhaustive public enum Trigger: String, Hashable, Sendable {
        /// A call of `RemoteSettingsService.sync()` or `RemoteSettingsClient.sync()`.
        case manual
        /// ``RemoteSettingsService/syncs(every:)``, or the app's own timer.
        case timer
        /// The app's start.
        case startup
        /// A push message, which announces a timestamp.
        case broadcast
        /// A read that always syncs first, even if there are local records.
        case forced
        /// A read that syncs first because there were no local records.
        case empty
        /// A trigger of a later version of the library, read from what that version has written.
        case unknown
    }

    /// The source in Firefox's terms: `settings-sync`, `settings-changes-monitoring`, or `bucket/collection`.
    public var source: String
    /// The result of the attempt.
    public var status: Status
    /// The cause of the sync.
    public var trigger: Trigger
    /// The collection's timestamp afterwards; `nil` if the attempt failed.
    public var timestamp: RemoteSettingsTimestamp?
    /// The time between the last change on the server and the server's response.
    ///
    /// It is set only for `settings-changes-monitoring`, and only if the server sends a `Date` header field.
    public var age: Duration?
    /// The duration of the attempt.
    public var duration: Duration
    /// The number of bytes that did not have to be downloaded, because an attachment was transferred as a delta to its
    /// earlier version.
    ///
    /// It is `nil` for all other outcomes. A successful download of a whole attachment is not reported at all.
    public var savedBytes: Int?
    /// The description of the error; `nil` if the attempt succeeded.
    public var errorDescription: String?
}

extension UptakeEvent.Status: Codable {
    /// Decodes the raw value. A status of a later version is ``unknownError``.
    public init(from decoder: any Decoder) throws {
        self = Self(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unknownError
    }
}

extension UptakeEvent.Trigger: Codable {
    /// Decodes the raw value. A trigger of a later version is ``unknown``.
    public init(from decoder: any Decoder) throws {
        self = Self(rawValue: try decoder.singleValueContainer().decode(String.self)) ?? .unknown
    }
}
